"""Reads the report of Vitis HLS (`syn/report/csynth.xml`): does every pipeline take a beat a clock, is timing met?

The layout, as in reports of 2020.2 to 2023.1: `UserAssignments` has the target and its uncertainty,
`PerformanceEstimates` of the top and of every `Module` the estimated period, and in `SummaryOfLoopLatency` an element a
loop, with `PipelineII` where it is a pipeline. Loops may be nested.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from framelane.base.errors import InputError

PIPELINES = ("fetch_beats", "correct_beats")
"""Labels of the loops that must be pipelines; Vitis joins the names of loops that it flattens."""


def violations(report: str) -> list[str]:
    """Return a sentence for every pipeline that misses II = 1 and every module that misses timing.

    Raises InputError where the text is not such a report.
    """
    try:
        root = ET.fromstring(report)
    except ET.ParseError as error:
        raise InputError(f"the report of the synthesis is not XML ({error}): look at the log") from None
    target = _number(root, "UserAssignments/TargetClockPeriod")
    uncertainty = _number(root, "UserAssignments/ClockUncertainty")
    _number(root, "PerformanceEstimates/SummaryOfTimingAnalysis/EstimatedClockPeriod")
    found = []
    pipelines = []
    for module in [root, *root.iterfind("ModuleInformation/Module")]:
        name = module.findtext("Name") or root.findtext("UserAssignments/TopModelName") or "top"
        period = module.findtext("PerformanceEstimates/SummaryOfTimingAnalysis/EstimatedClockPeriod")
        if period is not None and float(period) > target - uncertainty:
            found.append(
                f"{name}: the estimated clock period is {float(period):g} ns, there are {target - uncertainty:g} ns "
                f"({target:g} less {uncertainty:g} of uncertainty)"
            )
        for loop, interval in _loops(module):
            pipelines.append(loop)
            if interval != "1":
                found.append(f"{name}: the pipeline {loop} takes a beat every {interval} clocks, not every clock")
    missing = [label for label in PIPELINES if not any(label in loop for loop in pipelines)]
    return found + [f"the loop {label} is not a pipeline" for label in missing]


def _loops(module: ET.Element) -> Iterator[tuple[str, str]]:
    """Name and interval of every pipelined loop of a module."""
    for summary in module.iterfind("PerformanceEstimates/SummaryOfLoopLatency"):
        for loop in summary.iter():
            interval = loop.findtext("PipelineII")
            if interval is not None:
                yield loop.findtext("Name") or loop.tag, interval.strip()


def _number(root: ET.Element, path: str) -> float:
    text = root.findtext(path)
    try:
        return float(text or "")
    except ValueError:
        raise InputError(f"the report of the synthesis has no number in {path}: is Vitis 2023.2 or later?") from None
