"""Statistics that know nothing of databases: noise of repeats, many comparisons at once, changes in a series."""
