"""Detectors that send UDP packets of their own, by description."""
