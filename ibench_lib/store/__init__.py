"""The lake: runs on disk, and DuckDB over them."""
