"""What `framelane doctor` does: the packets first, then the host."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from framelane.base.claim import json_with
from framelane.base.errors import ConfigError, InputError
from framelane.base.output import check_free, check_no_input
from framelane.base.part_file import PartFile
from framelane.base.progress import say
from framelane.doctor import capture, live, report
from framelane.doctor.capture import Capture, Captured
from framelane.doctor.cause import Placer
from framelane.doctor.diagnosis import diagnose
from framelane.doctor.gathered import Diagnosis
from framelane.doctor.host import counters, detector, pcie
from framelane.doctor.host.examination import chosen_interface, examine
from framelane.doctor.host.finding import HostFinding, Level
from framelane.doctor.host.system import System
from framelane.packets.pcap import PcapWriter
from framelane.session.session import Session

_STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.FAULT: "red"}

_REPORT = json_with("a report of framelane doctor", format=report.FORMAT)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """What the user chose; None: the default. ConfigError for what cannot be, InputError where an input is written."""

    session: Path | None = None
    pcap: Path | None = None
    listen: float | None = None
    save: Path | None = None
    interface: str | None = None
    device: str | None = None
    detector: bool = False
    """This host receives a detector's own packets, on `interface`: there is no session."""
    pcie: str | None = None
    """This host has a board that writes over PCIe, at this address; `session` says how long its ring is."""
    json: Path | None = None
    force: bool = False
    """Older files are replaced."""

    def __post_init__(self) -> None:
        if self.pcie is not None:
            if self.pcap or self.device or self.interface or self.detector or self.listen is not None:
                raise ConfigError(
                    "--pcie checks this host alone: leave out --pcap, --listen, --interface, --device, --detector"
                )
        elif self.detector:
            if self.session or self.pcap or self.device or self.listen is not None:
                raise ConfigError("--detector checks this host alone: leave out --session, --pcap, --listen, --device")
            if self.interface is None:
                raise ConfigError("--detector: say by --interface where the detector's packets come in")
        elif self.session is None:
            raise ConfigError("give --session, --detector where a detector's own packets come in, or --pcie ADDRESS")
        if self.pcap and self.listen is not None:
            raise ConfigError("--pcap and --listen are two ways to get packets: give one of them")
        if self.listen is not None and not 0 < self.listen <= 3600:
            raise ConfigError(f"--listen {self.listen:g}: give seconds, above 0 and at most 3600")
        if self.save and self.listen is None:
            raise ConfigError("--save keeps what --listen takes: give --listen as well")
        for option, output in (("json", self.json), ("save", self.save)):
            if output:
                check_no_input(output, [path for path in (self.session, self.pcap) if path], option)
                check_free(output, force=self.force)

    @property
    def checks_host(self) -> bool:
        """Whether this host is the receiver, as far as the options tell."""
        return self.pcap is None or self.interface is not None or self.device is not None

    @property
    def placer(self) -> Placer | None:
        """Whose rules of placing frames are followed by; None: the default of the session's service."""
        if self.device is None:
            return None
        soft = Path("/sys/class/infiniband", self.device, "parent").exists() or self.device.startswith("rxe")
        return Placer.SOFT_ROCE if soft else Placer.RNIC


def run(options: DoctorOptions, console: Console) -> bool:
    """Examine what is asked for, and tell. Whether nothing is wrong. Raises FramelaneError for bad input."""
    document: dict[str, Any] = {"format": report.FORMAT}
    if options.pcie is not None:
        session = Session.load(options.session) if options.session else None
        right = _tell_host(list(pcie.examine(options.pcie, session)), document, console)
    elif options.session is None:
        right = _tell_host(list(detector.examine(str(options.interface))), document, console)
    else:
        right = _examine(options, Session.load(options.session), document, console)
    document["nothing_wrong"] = right
    if options.json:
        _write(options.json, document, options.force)
    return right


def _examine(options: DoctorOptions, session: Session, document: dict[str, Any], console: Console) -> bool:
    right = True
    packets, host = _packets(options, session, console)
    if packets is not None:
        diagnosis = diagnose(packets, session, options.placer)
        if isinstance(packets, Capture) and packets.cut_at is not None:
            diagnosis.cut_at = packets.cut_at
            document["capture"] = {"cut_at": packets.cut_at, "packets": diagnosis.packets}
        _tell(diagnosis, session, console)
        document["packets"] = report.document(diagnosis, session)
        right = bool(diagnosis.ours) and not diagnosis.faults and diagnosis.cut_at is None
    if options.checks_host:
        host += examine(session, options.interface, options.device)
        if packets is not None:
            say(console, "")
        right = _tell_host(host, document, console) and right
    return right


def _packets(
    options: DoctorOptions, session: Session, console: Console
) -> tuple[Iterable[Captured] | None, list[HostFinding]]:
    """The packets that are asked for, and what the counters did while they came."""
    if options.pcap:
        return capture.read(options.pcap), []
    if options.listen is None:
        return None, []
    system = System()
    interface = chosen_interface(system, session, options.interface, options.device)
    if interface is None:
        raise ConfigError(f"no interface is on the network of {session.receiver.ip}: say which, by --interface")
    say(console, f"listening on {interface} for {options.listen:g} s")
    before = counters.read(system, interface, options.device)
    heard = live.listen(interface, options.listen)
    grown = list(counters.check(counters.read(system, interface, options.device), before))
    if heard.missed:
        say(console, f"{heard.missed} packets came too fast for listening: some that look lost were only not seen")
    if heard.full:
        say(console, "listening has stopped early, its memory was full")
    if options.save:
        with PcapWriter(options.save, force=options.force) as writer:
            for time_ns, frame, _ in heard.packets:
                writer.write(frame, time_ns)
    return heard.packets, grown


def _tell(diagnosis: Diagnosis, session: Session, console: Console) -> None:
    for line in report.lines(diagnosis, session):
        kind = line.partition(":")[0]
        say(console, line, {"fault": "bold red", "network": "bold yellow", "warning": "yellow"}.get(kind))


def _tell_host(found: list[HostFinding], document: dict[str, Any], console: Console) -> bool:
    """Whether none of them is a fault."""
    for finding in found:
        advice = f"\n  do: {finding.advice}" if finding.advice else ""
        style = None if finding.level is Level.OK else _STYLES.get(finding.level)
        say(console, f"{finding.level.value}: {finding.check}: {finding.text}{advice}", style)
    document["host"] = [{"check": f.check, "level": f.level.value, "text": f.text, "advice": f.advice} for f in found]
    return not any(finding.level is Level.FAULT for finding in found)


def _write(path: Path, document: dict[str, Any], force: bool) -> None:
    try:
        with PartFile(path, force=force, kind=_REPORT) as part:
            part.path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}: give another file with --json") from error
