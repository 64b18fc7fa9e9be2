"""How fast the soft NIC takes packets: from memory, and over a network."""

from framelane.bench.receiver import softnic_wire
from framelane.bench.receiver.softnic_memory import from_memory
from framelane.bench.receiver.softnic_page import page
from framelane.bench.runner import Measurement


def measure() -> Measurement:
    """The rows and targets, and the page docs/measured/softnic_speed.md."""
    memory, targets = from_memory()
    network = softnic_wire.over_a_network()
    text = page(memory, network, targets, softnic_wire.TRIAL_S)
    return Measurement(memory + network, targets, page=text, page_name="softnic_speed")
