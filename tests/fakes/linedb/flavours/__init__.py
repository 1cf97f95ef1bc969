"""The family's only flavour."""
