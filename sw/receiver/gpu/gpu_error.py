"""What can go wrong on a GPU."""

from framelane.base.errors import FramelaneError


class GpuError(FramelaneError):
    """A GPU, or its driver, that does not do what it is told."""
