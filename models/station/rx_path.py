"""From a MAC to the blocks that frames are for: what `rx_path.sv` passes on while its buffer has room."""

from framelane.models.cells import vlan_strip
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station import rx_filter
from framelane.models.station.rx_filter import RxDrop, RxUser


def receive(frame: bytes, local: Endpoint, bad: bool = False) -> tuple[RxUser, bytes] | RxDrop:
    """A frame without its VLAN tag and what it is for, or why it is dropped; see `rx_filter.judge`."""
    found = rx_filter.judge(frame, local, bad)
    return found if isinstance(found, RxDrop) else (found, vlan_strip.strip(frame, found))
