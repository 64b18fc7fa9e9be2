"""framelane: detector frames from the FPGA into host or GPU memory over RoCEv2, processed as they arrive."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("framelane")
