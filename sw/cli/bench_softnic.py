"""How fast the soft NIC takes packets: from memory, and over a network."""

from framelane.cli import softnic_wire
from framelane.cli.bench import Measurement
from framelane.cli.softnic_memory import from_memory
from framelane.cli.softnic_page import page


def measure() -> Measurement:
    """The rows and targets, and the page docs/softnic_speed.md."""
    memory, targets = from_memory()
    network = softnic_wire.over_a_network()
    text = page(memory, network, targets, softnic_wire.TRIAL_S)
    return Measurement(memory + network, targets, page=text, page_name="softnic_speed")
