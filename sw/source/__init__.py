"""Sources without hardware: frames to a receiver as a board would send them, and impairments on their way.

Public names: docs/reference/api.md.
"""

from typing import TYPE_CHECKING

from framelane.base.lazily import lazily

__all__ = ["Impairment", "Outcome", "Stop", "emulate", "parse_impairments"]

if TYPE_CHECKING:
    from framelane.base.stopping import Stop
    from framelane.source.emulate_outcome import Outcome
    from framelane.source.emulate_run import emulate
    from framelane.source.impairments.impairments import Impairment
    from framelane.source.impairments.impairments import parse as parse_impairments
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Impairment": "framelane.source.impairments.impairments",
            "Outcome": "framelane.source.emulate_outcome",
            "Stop": "framelane.base.stopping",
            "emulate": "framelane.source.emulate_run",
            "parse_impairments": "framelane.source.impairments.impairments:parse",
        },
    )
