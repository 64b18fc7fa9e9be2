"""A served receiver in control systems: Bluesky by ophyd-async, EPICS and Tango (docs/howto/control_systems.md).

Each is from an extra, and a client of `framelane serve`: `pip install "framelane[ophyd]"`, `[epics]`, `[tango]`.
"""

from typing import TYPE_CHECKING

from framelane.base.lazily import lazily

__all__ = ["FramelaneDetector", "LostFrame"]

if TYPE_CHECKING:
    from framelane.control.losses import LostFrame
    from framelane.control.ophyd_detector import FramelaneDetector
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "FramelaneDetector": "framelane.control.ophyd_detector",
            "LostFrame": "framelane.control.losses",
        },
    )
