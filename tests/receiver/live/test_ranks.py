"""Several receivers under MPI, as real processes of a real launcher: what they do together, and when one fails."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import numpy as np
import pytest

from framelane.base.errors import OptionError
from framelane.cli.recv import ranked
from framelane.cli.recv.recv_options import RecvOptions
from framelane.receiver import Live, Processing
from framelane.receiver.ranks.ranks import launched
from mpi_run import FRAMELANE, PATIENCE_S, Run, RunCli, emulating, needs_mpi, plan, sent
from nxmx_reader import read_nxmx

_WITHOUT_MPI = "import sys; sys.modules['mpi4py'] = None; "


@needs_mpi
def test_a_run_of_two_ranks_is_one_file_in_the_order_of_the_detector(run_cli: RunCli, tmp_path: Path) -> None:
    with Run(tmp_path, "--json", "result.json") as run:
        run.wait_ready()
        pictures = sent(tmp_path)
        told = run.emulate(run_cli, "--bunch", 3, "--frames", 50)
        assert told[0] == 0, told
        text = run.end()
    assert run.status == 0, text
    assert "loss identity: 50 sent = 50 complete + 0 incomplete" in text
    assert text.count("loss identity") == 1, "rank 0 alone sums up"
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["command"], result["good"], result["file"], result["frames"]) == ("recv", True, "run.h5", 50)
    assert result["loss"]["complete"] == 50
    assert [(rank["good"], Path(rank["file"]).name, rank["loss"]["complete"]) for rank in result["ranks"]] == [
        (True, "run_0.h5", 26),
        (True, "run_1.h5", 24),
    ]
    (tmp_path / "moved").mkdir()
    for name in ("run.h5", "run_0.h5", "run_1.h5"):
        (tmp_path / name).rename(tmp_path / "moved" / name)
    with h5py.File(tmp_path / "moved" / "run.h5") as file:
        data = file["entry/data"]
        assert data["detector_frame"][:].tolist() == list(range(50))
        assert data["rank"][:].tolist() == [n // 3 % 2 for n in range(50)]
        assert data["frame_number"][:].tolist() == [n // 6 * 3 + n % 3 for n in range(50)]
        assert data["complete"][:].all()
        for number in range(50):
            np.testing.assert_array_equal(data["data"][number], pictures[number % len(pictures)], f"frame {number}")
            rank, place = data["rank"][number], data["rank_frame"][number]
            own = file[f"entry/ranks/{rank}/entry/data"]
            assert own["timestamp_ns"][place] == data["timestamp_ns"][number]
        assert file["entry/ranks/1"].attrs["frames"] == 24
        assert file["entry/ranks/1"].attrs["file"] == "run_1.h5"


@pytest.mark.parametrize("name", ["run.h5", "run_1.h5", "session_0.json"])
def test_the_result_is_no_other_file_of_any_rank(tmp_path: Path, name: str) -> None:
    live = Live(transport="udp", plan=plan(tmp_path), publish=tmp_path / "session.json")
    options = RecvOptions(source=live, processing=Processing(), output=tmp_path / "run.h5")
    ranked.result_file(options, tmp_path / "result.json", 2)
    with pytest.raises(OptionError, match="another file of this run"):
        ranked.result_file(options, tmp_path / name, 2)


@needs_mpi
def test_verdicts_of_all_ranks_are_judged_again_in_one_file(run_cli: RunCli, tmp_path: Path) -> None:
    options = "--minimum-peaks", "30", "--threshold", "2", "--distance", "180"
    with Run(tmp_path, *options, pixels="corrected") as run:
        run.wait_ready()
        pictures = sent(tmp_path)
        run.emulate(run_cli, "--frames", 40)
        text = run.end()
    assert run.status == 0, text
    counts = [int(np.count_nonzero((image >= 2) & (image != 32767))) for image in pictures]
    saturated = [int(np.count_nonzero(image == 32767)) for image in pictures]
    with h5py.File(tmp_path / "run.h5") as file:
        peaks, accepted = file["entry/data/peaks"][:], file["entry/data/accepted"][:]
        allowed = [{count, count + more} for count, more in zip(counts, saturated, strict=True)]
        assert all(peak in allowed[n % len(allowed)] for n, peak in enumerate(peaks.tolist()))
        assert accepted.tolist() == (peaks >= 30).tolist()
        rejected = np.flatnonzero(~accepted)
        assert all((file["entry/data/data"][n] == -32768).all() for n in rejected[:3])
    for name in ("run.h5", "run_1.h5"):  # what the plan says of the experiment, and before that the options
        read = read_nxmx(tmp_path / name)
        assert (read["distance"], read["material"], read["beam"], len(read["panels"])) == (180, "CdTe", (30, 20), 1)
    lowest = str(int(peaks.min()))
    assert f"{np.count_nonzero(accepted)} frames with enough peaks, {len(rejected)} rejected" in text
    assert "all ranks: a peak is a pixel of at least 2 photons" in text
    assert text.count("a peak is") == 1
    status, out, _ = run_cli("whatif", tmp_path / "run.h5", "--minimum-peaks", lowest)
    assert status == 0
    assert [line.split()[-2:] for line in out.splitlines() if "enough peaks" in line] == [
        [str(np.count_nonzero(accepted)), "40"]
    ]


@needs_mpi
def test_where_one_rank_cannot_begin_none_does(tmp_path: Path) -> None:
    with Run(tmp_path) as run, socket.socket(type=socket.SOCK_STREAM) as taken:
        taken.bind(("127.0.0.1", run.port + 1))
        taken.listen()
        text = run.end()
    assert run.status not in (0, -1)
    assert "rank 1: " in text
    assert f"{run.port + 1}" in text
    assert "waiting for" not in text
    assert not list(tmp_path.glob("*.h5"))


@needs_mpi
def test_what_the_other_ranks_have_is_kept_where_one_fails_later(run_cli: RunCli, tmp_path: Path) -> None:
    with Run(tmp_path, "--json", "result.json") as run:
        run.wait_ready()
        (tmp_path / "run_1.h5").mkdir()
        assert run.emulate(run_cli, "--frames", 20)[0] == 0
        text = run.end()
    assert run.status not in (0, -1)
    assert "rank 1: the run ended early: cannot write run_1.h5: a file of this name has come meanwhile" in text
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["entry/data/detector_frame"][:].tolist() == list(range(0, 20, 2))
        assert "has come meanwhile" in file["entry/ranks/1"].attrs["fault"]
        assert not file["entry/ranks/1"].attrs["good"]
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["good"], result["ranks"][0]["good"], result["ranks"][1]["good"]) == (False, True, False)
    assert "has come meanwhile" in result["ranks"][1]["fault"]


_NO_MASTER = """
import framelane.cli.recv.ranked as ranked
def write_master(path, parts, **how):
    raise MemoryError("no room for the master")
ranked.write_master = write_master
"""


@needs_mpi
def test_an_error_that_nobody_expects_at_the_end_lets_no_rank_wait(run_cli: RunCli, tmp_path: Path) -> None:
    with Run(tmp_path, program=_NO_MASTER + FRAMELANE) as run:
        run.wait_ready()
        assert run.emulate(run_cli, "--frames", 20)[0] == 0
        text = run.end()
    assert run.status not in (0, -1)
    assert "loss identity: 20 sent = 20 complete" in text
    assert "MemoryError: no room for the master" in text
    assert (tmp_path / "run_0.h5").is_file()
    assert (tmp_path / "run_1.h5").is_file()


@needs_mpi
def test_a_rank_without_frames_is_told_of_and_the_rest_is_linked(run_cli: RunCli, tmp_path: Path) -> None:
    with Run(tmp_path, "--idle", "2") as run:
        run.wait_ready()
        run_cli("emulate", "--to", f"127.0.0.1:{run.port}", "--port", run.port, "--frames", 20)
        text = run.end()
    assert run.status not in (0, -1)
    assert "rank 1: no frame came" in text
    with h5py.File(tmp_path / "run.h5") as file:
        assert len(file["entry/data/data"]) == 20
        assert file["entry/ranks/1"].attrs["frames"] == 0
    assert not (tmp_path / "run_1.h5").exists()


@needs_mpi
def test_a_signal_to_one_rank_ends_all_and_keeps_what_came(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.wait_ready()
        with emulating(run):
            os.kill(run.pid(1), signal.SIGINT)
            text = run.end()
    with h5py.File(tmp_path / "run.h5") as file:
        ranks = np.bincount(file["entry/data/rank"][:])
        assert ranks.min() > 10, "both have received"
        assert f"of {ranks.sum()} frames" in text
        assert (np.diff(file["entry/data/detector_frame"][:].astype(int)) > 0).all()
    assert run.status == 0, text


@needs_mpi
def test_a_signal_to_the_launcher_ends_all_and_keeps_what_came(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.wait_ready()
        with emulating(run):
            run.process.send_signal(signal.SIGUSR1 if run.open_mpi else signal.SIGINT)
            text = run.end()
    assert run.status == 0, text
    with h5py.File(tmp_path / "run.h5") as file:
        assert np.bincount(file["entry/data/rank"][:]).min() > 10


@needs_mpi
def test_nobody_waits_for_a_rank_that_was_killed(tmp_path: Path) -> None:
    with Run(tmp_path, recovery=True) as run:
        run.wait_ready()
        with emulating(run, "--frames", "100"):
            os.kill(run.pid(1), signal.SIGKILL)
            begun = time.monotonic()
            text = run.end()
    assert time.monotonic() - begun < PATIENCE_S / 2
    if run.open_mpi:  # the launcher of MPICH has ended all
        assert "rank 1: its process has ended without a word" in text
        with h5py.File(tmp_path / "run.h5") as file:
            assert set(file["entry/data/rank"][:].tolist()) == {0}
            assert "without a word" in file["entry/ranks/1"].attrs["fault"]


_SILENT = """
import socket, sys, time
from mpi4py import MPI
from framelane.receiver.ranks.ranks import Ranks
if {apart}:
    socket.gethostname = lambda: f"host{MPI.COMM_WORLD.Get_rank()}"
with Ranks(MPI.COMM_WORLD, patience_s=1.0) as ranks:
    if ranks.rank == {silent}:
        time.sleep({asleep})
    told = ranks.gather(ranks.rank * 10)
    print("rank", ranks.rank, "told", told, "answer", ranks.answer("done"), flush=True)
"""


def _silent(silent: int, apart: bool, asleep: float) -> str:
    """A rank sleeps; two ranks on one host, or as if they were apart."""
    program = _SILENT.replace("{silent}", str(silent)).replace("{apart}", str(apart))
    return program.replace("{asleep}", str(asleep))


@needs_mpi
@pytest.mark.parametrize("silent", [0, 1])
def test_a_rank_of_the_same_host_is_waited_for_as_long_as_it_lives(tmp_path: Path, silent: int) -> None:
    with Run(tmp_path, program=_silent(silent, apart=False, asleep=3)) as run:
        text = run.end()
    assert run.status == 0, text
    assert "rank 0 told [0, 10] answer done" in text


@needs_mpi
@pytest.mark.parametrize("silent", [0, 1])
def test_a_rank_of_another_host_that_is_silent_for_long_counts_as_lost(tmp_path: Path, silent: int) -> None:
    with Run(tmp_path, program=_silent(silent, apart=True, asleep=30)) as run:
        begun = time.monotonic()
        text = run.end()
    assert time.monotonic() - begun < 20
    assert run.status not in (0, -1)
    assert "nothing was heard of it for 1 s" in text
    if silent == 1:
        assert "rank 0 told [0, Lost(why='nothing was heard of it for 1 s')] answer done" in text
    else:
        assert "rank 1 told None answer Lost" in text


@pytest.mark.parametrize(
    ("environment", "size"),
    [
        ({}, 1),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, 4),
        ({"PMI_SIZE": "2", "PMI_RANK": "1"}, 2),
        ({"PMI_SIZE": "1"}, 1),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, 1),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8"}, 8),
    ],
)
def test_a_launcher_is_known_by_its_environment(environment: dict[str, str], size: int) -> None:
    assert launched(environment) == size


def command(folder: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    options = ["recv", "--transport", "udp", "--plan", str(plan(folder)), "--output", "run.h5", "--idle", "0.3"]
    return subprocess.run(
        [sys.executable, "-c", program, *options, "--link-port", "0", "--port", "0"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_one_process_needs_no_mpi(tmp_path: Path) -> None:
    done = command(tmp_path, _WITHOUT_MPI + FRAMELANE)
    assert (done.returncode, done.stderr) == (1, "")
    assert "no frame came" in done.stdout


def test_several_processes_without_mpi_do_not_write_the_same_file(tmp_path: Path) -> None:
    done = command(tmp_path, _WITHOUT_MPI + FRAMELANE, PMI_SIZE="2", PMI_RANK="0")
    assert done.returncode == 2
    assert "started 2 processes" in done.stderr
    assert "install framelane[mpi]" in done.stderr


@needs_mpi
def test_a_launcher_that_the_mpi_library_knows_nothing_of_is_refused(tmp_path: Path) -> None:
    done = command(tmp_path, FRAMELANE, SLURM_STEP_NUM_TASKS="2")
    assert done.returncode == 2
    assert "started 2 processes of this run, but MPI knows of 1" in done.stderr
