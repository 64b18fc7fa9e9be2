"""Models of the blocks between frames and memory."""
