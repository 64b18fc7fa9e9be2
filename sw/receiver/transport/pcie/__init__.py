"""Frames that a PCIe device writes into the ring: events instead of packets."""
