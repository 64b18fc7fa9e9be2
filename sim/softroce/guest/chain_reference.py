"""The other side of the comparison: a soft NIC takes the same packets.

    chain_reference.py FOLDER

FOLDER is that of one case; the result goes to its folder `reference`.
"""

import sys
from pathlib import Path

from chain_receiver import PACKETS, SESSION, ChainReceiver
from chain_services import as_uc, write
from framelane.packets import pcap
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.pcap_port import PcapPort
from framelane.receiver.transport.softnic import SoftNic
from framelane.session.session import Session

REFERENCE = "reference"


def main(case: Path) -> None:
    """Receive the capture of one case."""
    session = Session.load(case / SESSION)
    output = case / REFERENCE
    output.mkdir()
    packets, served = case / PACKETS, session
    if session.service == "RC":
        packets, served = output / PACKETS, session.model_copy(update={"service": "UC"})
        write(packets, [[as_uc(packet) for packet in pcap.read(case / PACKETS)]])
    ring = Ring(session)
    with SoftNic(PcapPort(packets), ring.memory, served) as transport:
        receiver = ChainReceiver(case, output, session, ring, transport)
        while not transport.ended:
            receiver.poll(0)
        receiver.close()


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        main(Path(argument))
