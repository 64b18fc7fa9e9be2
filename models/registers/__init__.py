"""Models of the registers."""
