"""Models of the small cells."""
