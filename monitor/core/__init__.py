"""The functional core: numbers in, numbers out; no input or output, no clock, no log."""
