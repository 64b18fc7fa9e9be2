"""How fast JUNGFRAU words are corrected."""

from framelane.bench.receiver.correction_cpu import on_the_cpu
from framelane.bench.receiver.correction_gateware import in_gateware
from framelane.bench.receiver.correction_page import page
from framelane.bench.runner import Measurement


def measure() -> Measurement:
    """The rows and targets of the CPU and of the gateware, and the page docs/measured/correction_speed.md."""
    on_cpu, cpu_targets = on_the_cpu()
    simulated, gateware_targets = in_gateware()
    rows = [row | {"clocks": None, "latency_clocks": None} for row in on_cpu] + simulated
    targets = cpu_targets + gateware_targets
    return Measurement(rows, targets, shown=on_cpu, page=page(on_cpu, simulated, targets), page_name="correction_speed")
