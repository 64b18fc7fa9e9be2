"""Calibrations of a JUNGFRAU: dark runs, gain maps, pedestals, and the file they become."""
