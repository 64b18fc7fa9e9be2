"""The peak finder on the CPU: the peaks of `models.peak_finder`, to the last bit."""

from framelane.receiver.peaks.peak_finder import PeakFinder

__all__ = ["PeakFinder"]
