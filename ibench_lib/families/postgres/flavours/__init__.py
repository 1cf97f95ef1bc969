"""The only flavour of the family."""
