"""TLPs as beats of a port, for blocks behind the join."""

import random
from collections.abc import Iterator

from framelane.driver.simulated.ports import TLP_USER_T
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import Tlp
from tlp_ports import request


def some_tlp(chance: random.Random, longest: int = 512) -> Sent:
    """A write of any length and alignment that crosses no 4 KiB, or a fence."""
    if chance.random() < 0.1:
        return Sent(Tlp(chance.randrange(1 << 40) << 2, 0), b"", fence=chance.randrange(32))
    length = chance.choice([1, 4, 64, longest, chance.randrange(1, longest + 1)])
    address = (chance.randrange(1 << 40) << 12) + chance.randrange(longest - length + 1)
    return Sent(Tlp(address, length), chance.randbytes(length))


def beats(sent: Sent, width: int) -> Iterator[dict[str, int]]:
    """The items of a stream of the port."""
    user = TLP_USER_T.pack(request(sent.tlp, sent.fence) | {"poisoned": sent.poisoned})
    data = bytes(sent.tlp.lead) + sent.data
    data = data.ljust(4 * sent.tlp.dwords, b"\0")
    for at in range(0, len(data), width // 8):
        part = data[at : at + width // 8]
        keep = (1 << len(part) // 4) - 1
        last = int(at + width // 8 >= len(data))
        yield {"tdata": int.from_bytes(part, "little"), "tkeep": keep, "tlast": last, "tuser": user}
