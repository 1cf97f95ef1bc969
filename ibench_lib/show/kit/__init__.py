"""What the subjects share: cells, grids, charts, strips, sentences and their marks."""
