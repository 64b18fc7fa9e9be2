"""A run of the receiver, live or from a capture, on one rank or several."""
