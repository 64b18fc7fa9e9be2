"""Models of placement: where every byte of a frame comes from and goes to."""
