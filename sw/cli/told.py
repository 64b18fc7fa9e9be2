"""`--json FILE`, of commands that take long: what came of them, for machines."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from framelane.receiver import RunStatistics

Json = Annotated[Path | None, typer.Option("--json", help="Write the results to this file, for programs.")]
FORMAT = "framelane result 1"


class Told:
    """The file of `--json`, or none: it appears whole when the command has ended, not where its input was bad.

    InputError where there is another file of its name without `force`, or it is one of `inputs`; among these may be
    what the command itself writes.
    """

    def __init__(self, path: Path | None, command: str, *, inputs: Iterable[Path | None] = (), force: bool) -> None:
        from framelane.base.errors import OptionError
        from framelane.base.output import check_free, check_no_input
        from framelane.files.linked_files import with_linked

        self._path, self._command, self._force = path, command, force
        if path is not None:
            others = [each for each in inputs if each is not None]
            check_no_input(path, with_linked([each for each in others if each.exists()]), "json")
            if path.absolute() in [each.absolute() for each in others]:
                raise OptionError("{json} {0} is another file of this run: give another name", path)
            check_free(path, force=force)

    def write(self, *, good: bool, **facts: Any) -> None:
        """Write `facts`; `good`: the command's exit status is 0. InputError where it cannot be written."""
        if self._path is None:
            return
        from framelane.base.claim import json_with
        from framelane.base.errors import InputError
        from framelane.base.part_file import PartFile

        document = {"format": FORMAT, "command": self._command, "good": good, **facts}
        kind = json_with("a result of framelane", format=FORMAT)
        try:
            with PartFile(self._path, force=self._force, kind=kind) as part:
                part.path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write {self._path}: {error.strerror}: give another file with --json") from error


def reasons_of(reasons: "Counter[Any]") -> dict[str, int]:
    """How many frames had which verdict, by its name."""
    return {reason.name: count for reason, count in sorted(reasons.items())}


def run_facts(statistics: "RunStatistics") -> dict[str, Any]:
    """All that a run has counted: the loss identity, packets, verdicts."""
    tally, counters = statistics.tally, asdict(statistics.counters)
    return {
        "loss": {**asdict(tally), "holds": tally.holds},
        "written": statistics.written,
        "reasons": reasons_of(statistics.reasons),
        "packets": {**counters, "refused": dict(counters["refused"])},
        "strays": statistics.strays,
        "sources_gone": statistics.sources_gone,
    }
