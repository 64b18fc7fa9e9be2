"""What a rank makes of the options of all: names, ports, the cores near its GPU."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from framelane.base.errors import ConfigError
from framelane.bench.gpu.bench_gpu_ranks import _rows
from framelane.cli.recv.ranked import RankOutcome, notes, of_rank
from framelane.cli.recv.recv_options import RecvOptions
from framelane.receiver.live.packet_source import Capture, Live
from framelane.receiver.live.processing import Processing
from framelane.receiver.ranks.rank_gpu import near
from framelane.receiver.ranks.ranks import Lost


@dataclass
class RankNumbers:
    rank: int
    local_rank: int


def options(output: str = "out/run.h5", **live: Any) -> RecvOptions:
    given = {"transport": "udp", "session": None, "plan": Path("plan.toml")} | live
    return RecvOptions(source=Live(**given), processing=Processing(), output=Path(output))


def on(rank: RankNumbers, chosen: RecvOptions) -> RecvOptions:
    return of_rank(chosen, rank)  # type: ignore[arg-type]


def live_on(rank: RankNumbers, chosen: RecvOptions) -> Live:
    source = on(rank, chosen).source
    assert isinstance(source, Live)
    return source


def test_each_rank_has_files_and_ports_of_its_own() -> None:
    chosen = options(publish=Path("published.json"))
    own = live_on(RankNumbers(3, 1), chosen)
    assert on(RankNumbers(3, 1), chosen).output == Path("out/run_3.h5")
    assert own.publish == Path("published_3.json")
    assert own.plan == Path("plan.toml")
    assert (own.link_port, own.port) == (4791, 4792), "on each host they begin anew"


def test_names_may_say_where_the_rank_stands() -> None:
    live: dict[str, Any] = {
        "transport": "verbs",
        "plan": Path("{rank}/plan.toml"),
        "device": "mlx5_{local_rank}",
        "link_port": 0,
    }
    own = live_on(RankNumbers(5, 1), options(publish=Path("s{rank}.json"), **live))
    assert (own.plan, own.device, own.publish) == (Path("5/plan.toml"), "mlx5_1", Path("s5.json"))
    assert (own.link_port, own.port) == (0, None)


def test_sessions_that_are_served_again_are_found_by_rank() -> None:
    own = live_on(RankNumbers(2, 0), options(plan=None, session=Path("session_{rank}.json"), port=5000))
    assert (own.session, own.port) == (Path("session_2.json"), 5000)


def test_a_capture_is_of_one_session() -> None:
    source = Capture(Path("tx.pcap"), Path("session.json"))
    capture = RecvOptions(source=source, processing=Processing(), output=Path("run.h5"))
    with pytest.raises(ConfigError, match="leave out the MPI launcher"):
        on(RankNumbers(0, 0), capture)


def test_the_output_is_that_of_all_ranks() -> None:
    with pytest.raises(ConfigError, match="without braces"):
        on(RankNumbers(0, 0), options("run_{rank}.h5"))


def test_what_ranks_have_to_say_is_said_once_with_their_numbers() -> None:
    told = [
        RankOutcome("host", "", Path(f"run_{n}.h5"), notes=("all", *which)) for n, which in enumerate(["ab", "b", ""])
    ]
    assert notes(told) == ["all ranks: all", "rank 0: a", "ranks 0, 1: b"]
    assert notes([*told, Lost("it was killed")])[0] == "ranks 0, 1, 2: all"
    assert notes(told[:1])[1] == "rank 0: a"


def test_a_rank_keeps_to_the_cores_near_its_gpu_where_there_are_some(tmp_path: Path) -> None:
    mine = sorted(os.sched_getaffinity(0))
    folder = tmp_path / "sys/bus/pci/devices/0000:3b:00.0"
    folder.mkdir(parents=True)
    (folder / "local_cpulist").write_text(f"{mine[0]}-{mine[-1]},9000-9001\n")
    assert near("0000:3b:00.0", tmp_path) == (set(mine) if len(mine) > 1 else set())
    (folder / "local_cpulist").write_text("9000,9002\n")
    assert near("0000:3b:00.0", tmp_path) == set()
    assert near("0000:00:00.0", tmp_path) == set()


def test_the_rate_of_all_ranks_is_that_until_the_last_has_ended() -> None:
    runs = [{"copies": [(10.0, 11.0, 500), (20.0, 21.0, 500)]}, {"copies": [(10.0, 12.0, 500), (20.0, 20.5, 500)]}]
    told = [{"gpu": str(n), "cores": 4, "image_bytes": 10**6, "runs": each} for n, each in enumerate(runs)]
    row = _rows(told)["copies"]
    assert row["frames_per_s"] == pytest.approx((500 + 1000) / 2), "1000 in 2 s, 1000 in 1 s: their median"
    assert (row["slowest_rank"], row["fastest_rank"]) == (375, 750)
    assert row["gb_per_s"] == pytest.approx(0.75)
