"""Where builds come from, one module per source. Adding one is adding a file here with `offers` and `install`."""
