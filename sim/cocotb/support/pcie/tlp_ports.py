"""Ports of the PCIe write path: what goes with TLPs on their way, and TLPs of the port as the model has them."""

from collections.abc import Iterable, Sequence

from framelane.driver.simulated.ports import TLP_T, TLP_USER_T
from framelane.models.pcie.pcie_wr import Engine
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import Status, Tlp, Write, split, status


def request(tlp: Tlp, fence: int | None = None) -> dict[str, int]:
    """The fields of request_t."""
    enables = {"first_be": tlp.first_be, "last_be": tlp.last_be}
    return {"fence": fence is not None, "tag": fence or 0, "address": tlp.dw_address, "dwords": tlp.dwords} | enables


def reads(write: Write, tlps: Sequence[Tlp], lanes: int) -> list[dict[str, int]]:
    """What goes with each TLP of `write`: where its bytes are in beats of `lanes` bytes, counted byte by byte."""
    found = []
    beat_of = [k // lanes for k in range(write.length)]
    taken = -1
    """The last payload beat that a beat out has needed."""
    for tlp in tlps:
        start = tlp.address - write.offset
        out = [beat_of[start + k] for k in range(tlp.length)]
        n_out = -(-(tlp.lead + tlp.length) // lanes)
        takes = []
        for n in range(n_out):
            needed = out[max(0, n * lanes - tlp.lead) : (n + 1) * lanes - tlp.lead]
            takes.append(needed[-1] > taken)
            taken = max(taken, needed[-1])
        assert all(takes[:-1])
        found.append(
            {
                "beats": n_out - 1,
                "reads_last": takes[-1],
                "earlier": (start - tlp.lead) % lanes * -1 % lanes,
                "final_read": any(takes) and taken == beat_of[-1],
                "tail": (write.length - 1) % lanes,
            }
        )
    return found


def tlp_items(write: Write, engine: Engine) -> list[dict[str, int]]:
    """The items of a stream of tlp_t, behind the page map, of one descriptor."""
    refused = status(write, engine.pages.ring_bytes)
    if refused is not Status.OK:
        fields = dict.fromkeys(TLP_T.fields, 0)
        return [
            {"tdata": TLP_T.pack(fields | {"status": refused, "refused": 1, "empty": write.length == 0, "ends": 1})}
        ]
    tlps = list(split(write, engine.mps))
    items = []
    for tlp, lanes in zip(tlps, reads(write, tlps, engine.beat), strict=True):
        said, address = engine.pages.translate(tlp.address)
        where = request(tlp) | {"address": address & ~3}
        flags = {"status": said, "refused": 0, "empty": 0, "ends": tlp is tlps[-1]}
        items.append({"tdata": TLP_T.pack(flags | lanes | where)})
    return items


def taken_tlps(items: Iterable[dict[str, int]], width: int) -> list[Sent]:
    """TLPs of the port, of the beats that a sink took: the inverse of `Sent`, with zeros as the data of a poisoned one.

    Fails where a beat breaks the port's contract.
    """
    found = []
    data = b""
    first: dict[str, int] = {}
    for item in items:
        user = TLP_USER_T.unpack(item["tuser"])
        here = {name: user[name] for name in ("fence", "tag", "address", "dwords", "first_be", "last_be")}
        first = first or here
        assert here == first, "the header changes inside a TLP"
        keep, last = item["tkeep"], bool(item["tlast"])
        count = keep.bit_length()
        assert keep == (1 << count) - 1, "tkeep has holes"
        assert count == width // 32 or (last and count), "tkeep is not full before tlast"
        data += item["tdata"].to_bytes(width // 8, "little")[: 4 * count]
        if not last:
            continue
        assert len(data) == 4 * first["dwords"], "tlast is not where the header's length ends"
        lead = (first["first_be"] & -first["first_be"]).bit_length() - 1
        closing = first["last_be"] or first["first_be"]
        length = len(data) - 4 + closing.bit_length() - lead if closing else 0
        tlp = Tlp(first["address"] + max(lead, 0), length)
        fence = first["tag"] if first["fence"] else None
        assert request(tlp, fence) == first, "these are not byte enables of one run of bytes"
        assert (length == 0) == (fence is not None), "bytes of a fence, or a write without any"
        poisoned = bool(user["poisoned"])
        found.append(Sent(tlp, bytes(length) if poisoned else data[lead : lead + length], poisoned, fence))
        data, first = b"", {}
    assert not data, "the last TLP has no end"
    return found


def without_lost_data(sent: Iterable[Sent]) -> list[Sent]:
    """The model's TLPs as `taken_tlps` gives them: data of a poisoned one do not count."""
    return [Sent(each.tlp, bytes(each.tlp.length), True) if each.poisoned else each for each in sent]
