"""GPUs as the target of a board's writes: how much of their memory is on the bus, and the way there."""

from collections.abc import Iterable, Iterator

from framelane.doctor.host.finding import HostFinding, fault, good, note, warning
from framelane.doctor.host.pcie_device import PciDevice
from framelane.session.session import Session

_NVIDIA, _AMD = "0x10de", "0x1002"
_WHICH = {_NVIDIA: 1, _AMD: 0}
"""Which of its memory BARs, counted from 0, shows others the memory of a GPU: what NVIDIA calls BAR1 may be BAR 2."""
_SMALL = 256 << 20
_UNTRANSLATED = "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1324"


def check(board: PciDevice, devices: Iterable[PciDevice], session: Session | None) -> Iterator[HostFinding]:
    """What there is of every GPU that a board could write to."""
    for gpu in devices:
        if gpu.text("class").startswith("0x03") and gpu.text("vendor") in _WHICH:
            yield _check_bar(gpu, session)
            yield _check_way(board, gpu)
            if gpu.text("vendor") == _NVIDIA and gpu.driver == "nvidia":
                yield _check_export(board, gpu)


def _check_bar(gpu: PciDevice, session: Session | None) -> HostFinding:
    bars, which = gpu.memory_bars(), _WHICH[gpu.text("vendor")]
    bar, size = bars[which] if which < len(bars) else (which, 0)
    text = f"BAR {bar} of the GPU {gpu.name} has {size >> 20} MiB"
    advice = "switch on Above 4G Decoding and Resizable BAR in the firmware; GPUs for servers have all there"
    if session is not None and size < session.layout.ring_bytes:
        return fault("gpu bar", f"{text}, the ring has {session.layout.ring_bytes >> 20}", f"fewer slots; {advice}")
    if size <= _SMALL:
        return warning("gpu bar", f"{text}: a ring in its memory must fit there", advice)
    return good("gpu bar", text)


def _check_way(board: PciDevice, gpu: PciDevice) -> HostFinding:
    """Writes to a peer go straight through a switch that both are behind, unless ACS sends them to the root."""
    ours, theirs = board.above(), {bridge.name for bridge in gpu.above()}
    common = next((bridge for bridge in ours if bridge.name in theirs), None)
    if common is None:
        text = f"from {board.name} to the GPU {gpu.name} writes pass the root complex"
        return note("gpu way", text, "where their rate is too low: a slot behind the same switch as the GPU")
    below = ours[: ours.index(common)]
    redirects = [bridge.config().redirects_peers() for bridge in below]
    text = f"{board.name} and the GPU {gpu.name} are behind the same bridge {common.name}"
    if None in redirects:
        return note(
            "gpu acs", f"{text}; whether ACS sends writes round by the root only root may read", "run it as root"
        )
    if any(redirects):
        names = ", ".join(bridge.name for bridge, does in zip(below, redirects, strict=True) if does)
        command = f"`setpci -s {names.split(', ')[0]} ECAP_ACS+6.w=0:4`"
        advice = f"where no untrusted device is behind it: {command}, after each boot"
        return warning("gpu acs", f"{text}, but ACS of {names} sends their writes round by the root", advice)
    return good("gpu acs", f"{text}, and ACS lets writes pass there")


def _check_export(board: PciDevice, gpu: PciDevice) -> HostFinding:
    """NVIDIA's dma-buf gives addresses of its BAR as they are on the bus: the importer must map them itself."""
    if not board.group or not board.translated:
        return good("gpu export", f"the IOMMU lets addresses of the GPU {gpu.name} pass as they are")
    text = f"the IOMMU translates for {board.name}, and NVIDIA's driver exports addresses of {gpu.name} untranslated"
    advice = f"use framelane's own kernel module, which maps them (docs/integrating/pcie_host.md); see {_UNTRANSLATED}"
    return warning("gpu export", text, advice)
