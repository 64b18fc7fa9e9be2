"""Registers by name, and the backends that reach them."""
