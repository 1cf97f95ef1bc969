"""The workbench's library."""
