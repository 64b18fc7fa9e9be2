"""Registers, sessions, ring credit and the backends that run a transmitter."""
