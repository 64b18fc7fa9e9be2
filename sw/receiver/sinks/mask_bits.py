"""Bits of NXmx's pixel_mask (manual.nexusformat.org, NXmx, NXdetector)."""

GAP = 1 << 0
"""No sensor is there."""
DEAD = 1 << 1
USER = 1 << 8
"""The user does not want it."""
VIRTUAL = 1 << 31
"""Interpolated, or a share of a larger pixel: no reason to leave it out."""
