"""framelane: detector frames from the FPGA into host or GPU memory over RoCEv2, processed as they arrive.

What there is to import is in `framelane.receiver`, `framelane.calibration`, `framelane.source` and `framelane.driver`
(docs/reference/api.md).
"""

from typing import TYPE_CHECKING

__all__ = ["__version__"]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version  # slow

        return version("framelane")
