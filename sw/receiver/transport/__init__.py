"""Transports: what places packets in the ring's memory."""
