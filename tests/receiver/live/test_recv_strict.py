"""`framelane recv` for scripts: anything but complete is status 1, and whatever anybody else sends, all frames come."""

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.models.placement.trailer import immediate
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.tx import tx
from framelane.packets.pcap import PcapWriter
from framelane.session.session import Session
from live_recv import SLOTS, Source, receiving, wait_until, write_plan

RunCli = Callable[..., tuple[int, str, str]]
MakeSession = Callable[..., Session]
FRAMES = 4


class Capture:
    """Frames of `sent` in a capture for `session`, without the packets `lost`."""

    def __init__(self, folder: Path, run_cli: RunCli, session: Session) -> None:
        self.folder, self.run, self._session = folder, run_cli, session

    def recv(
        self, *arguments: object, sent: Session | None = None, lost: tuple[int, ...] = ()
    ) -> tuple[int, str, dict[str, int]]:
        """Status, output, and the loss that the file says."""
        source, output = sent or self._session, self.folder / "frames.h5"
        images = [np.full(source.image_bytes // 2, n, "<u2").tobytes() for n in range(FRAMES)]
        with PcapWriter(self.folder / "x.pcap") as capture:
            for n, packet in enumerate(tx(images, source.tx_config())):
                if n not in lost:
                    capture.write(packet)
        self._session.save(self.folder / "session.json")
        options = ("--pcap", self.folder / "x.pcap", "--session", self.folder / "session.json", "--output", output)
        status, out, _ = self.run("recv", *options, *arguments)
        if not output.exists():
            return status, out, {}
        with h5py.File(output) as file:
            return status, out, {name: int(count) for name, count in file["entry/loss"].attrs.items()}


@pytest.fixture
def capture(tmp_path: Path, run_cli: RunCli, make_session: MakeSession) -> Capture:
    return Capture(tmp_path, run_cli, make_session())


@pytest.mark.parametrize(
    ("demand", "lost", "status"),
    [
        ((), (), 0),
        ((), (1,), 0),
        (("--strict",), (), 0),
        (("--strict",), (1,), 1),
        (("--strict",), (5, 6, 7, 8, 9), 1),
        (("--expect", FRAMES), (), 0),
        (("--expect", FRAMES), (1,), 1),
        (("--expect", FRAMES - 1), (), 1),
        (("--expect", FRAMES + 1), (), 1),
        (("--expect", FRAMES - 1), (5, 6, 7, 8, 9), 1),
        (("--expect", FRAMES - 1, "--strict"), tuple(range(15, 20)), 0),
    ],
)
def test_a_script_is_told_by_the_status_where_not_all_is_complete(
    capture: Capture, demand: tuple[object, ...], lost: tuple[int, ...], status: int
) -> None:
    found, out, loss = capture.recv(*demand, lost=lost)
    assert found == status, out
    assert loss["complete"] + loss["incomplete"] + loss["missing"] == loss["sent"]
    if status:
        assert f"{demand[0]}{f' {demand[1]}' if len(demand) > 1 else ''}: {loss['complete']} frames are complete" in out


def test_frames_of_another_size_are_told_from_missing_ones(capture: Capture, make_session: MakeSession) -> None:
    status, out, loss = capture.recv("--strict", sent=make_session(rows=15))
    assert (status, loss) == (1, {})
    assert "0 missing + 4 of another size" in out
    assert "frames of another size than the session's are not kept: frame 0 has 3000 bytes of pixels, 3200 by" in out


def test_the_file_says_how_many_frames_were_of_another_size(capture: Capture, make_session: MakeSession) -> None:
    """The source is corrected in the middle of its run: two frames are those of the other session."""
    other = make_session(rows=12, columns=100)
    images = [np.zeros(1200, "<u2").tobytes()] * 2
    extra = tx(images, other.tx_config())
    with_extra = len(extra)
    session = make_session(psn=(0xFFFFFE + with_extra) & 0xFFFFFF)
    whole = tx([np.ones(1600, "<u2").tobytes()] * 4, session.tx_config())[2 * 5 :]
    folder = capture.folder
    with PcapWriter(folder / "mixed.pcap") as file:
        for packet in [*extra, *whole]:
            file.write(packet)
    make_session().save(folder / "session.json")
    options = ("--pcap", folder / "mixed.pcap", "--session", folder / "session.json", "--output", folder / "frames.h5")
    assert capture.run("recv", *options)[0] == 0
    with h5py.File(folder / "frames.h5") as file:
        loss = dict(file["entry/loss"].attrs)
        assert file["entry/data/frame_number"][()].tolist() == [2, 3]
    assert (loss["sent"], loss["complete"], loss["missing"], loss["wrong_size"]) == (4, 2, 0, 2)


def test_an_immediate_without_rkey_silences_no_frame_of_a_live_soft_nic(tmp_path: Path) -> None:
    """It needs no more than the session's QP number, and names PSNs that are far ahead."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with receiving(tmp_path, *write_plan(tmp_path, port), "--expect", 3 * SLOTS) as run, run.link(0) as link:
        source = Source(link.session, port)
        for number in range(3 * SLOTS):
            assert wait_until(lambda number=number: link.window_end > number)  # type: ignore[misc]
            packets = source.packets(number)
            headers = wire.parse(packets[-1])[0]
            changed: tuple[dict[str, Any], ...] = (
                {"psn": headers.psn + (1 << 22) & 0xFFFFFF},
                {"psn": headers.psn + 1000 & 0xFFFFFF, "imm": immediate(0, number + 1)},
                {"psn": headers.psn + 1 & 0xFFFFFF, "imm": immediate(7, 0)},
            )
            forged = [
                roce_icrc.append(wire.pack(replace(headers, **changes, reth=wire.Reth(0, 0, 0), payload_bytes=0)))
                for changes in changed
            ]
            source.send_packets([*forged, *packets, *forged])
        link.report(0, offered=3 * SLOTS, dropped=0, ended=True)
        status, out, err = run.end()
    assert (status, err) == (0, ""), out
    assert f"{3 * SLOTS} complete + 0 incomplete" in out
    assert f"{6 * 3 * SLOTS} stray immediates, without a trailer of an open frame, first immediate 0x" in out
    assert "of a message of no bytes, which brings no trailer" in out
