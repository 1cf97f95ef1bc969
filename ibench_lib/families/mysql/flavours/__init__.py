"""The family's flavours, a module for each."""
