"""`framelane bench`: the documents it writes, and that a missed promise is called one."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from framelane.bench.files import file_writers, killed_writers, write_rate
from framelane.bench.receiver import (
    bench_detector,
    bench_link,
    bench_pipeline,
    correction_cpu,
    recv_attacked,
    softnic_memory,
    softnic_packets,
    softnic_wire,
)
from framelane.bench.runner import NAMES, Measurement, Target, save
from framelane.bench.serve import bench_serve, lossless
from framelane.bench.transmitter import (
    bench_detector_tx,
    bench_pcie,
    bench_placement,
    bench_ptp,
    bench_rc,
    bench_rc_store,
    bench_roce_tx,
    bench_tx,
    placement_page,
    roce_tx_page,
)
from framelane.bench.transmitter.ptp import ptp_disturbances

RunCli = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", NAMES)
def test_a_bench_writes_its_rows_and_targets(
    name: str, run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_pipeline, "REPEATS", 2)
    monkeypatch.setattr(correction_cpu, "ROUNDS", 2)
    monkeypatch.setattr(bench_roce_tx, "PAYLOADS", roce_tx_page.PAYLOADS)
    monkeypatch.setattr(softnic_packets, "PAYLOADS", (4096,))
    for constant, few in (("SLOTS", 2), ("ROUNDS", 1), ("LOOP_PACKETS", 50)):
        monkeypatch.setattr(softnic_memory, constant, few)
    for constant, little in (("TRIAL_S", 0.02), ("STEPS", 1), ("TRIES", 1)):
        monkeypatch.setattr(softnic_wire, constant, little)
    for constant, least in (("MODULES", (1,)), ("ROUNDS", 1), ("TRIAL_S", 0.02), ("STEPS", 1), ("TRIES", 1)):
        monkeypatch.setattr(bench_detector, constant, least)
    for constant, short in (("TRIAL_S", 0.2), ("WARM_S", 0.0)):
        monkeypatch.setattr(bench_link, constant, short)
    for constant, once in (("TRIAL_S", 0.3), ("ROUNDS", 1)):
        monkeypatch.setattr(recv_attacked, constant, once)
    for constant, small in (("ROUNDS", 1), ("OTHER_ROUNDS", 1), ("SHAPE", (64, 64)), ("FRAMES", {"noise": 2})):
        monkeypatch.setattr(write_rate, constant, small)
    for constant, quick in (("KILLS", 1), ("READS", 1), ("OLD_S", 0.3), ("LATENCY_S", 1.5), ("SHAPE", (64, 64))):
        monkeypatch.setattr(killed_writers, constant, quick)
    for way in ("flushed", "series"):
        monkeypatch.delitem(file_writers.WRITERS, way)
    for constant, less in (("WIDTHS", placement_page.WIDTHS), ("FRAMES", 2), ("LATENCIES", (0,)), ("REPEATS", 2)):
        monkeypatch.setattr(bench_placement, constant, less)
    for constant, part in (("DELAYS", (125,)), ("WINDOWS", (64,)), ("LENGTHS", dict.fromkeys(bench_rc.LOSSES, 5_000))):
        monkeypatch.setattr(bench_rc, constant, part)
    for constant, lean in {
        "SHAPE": (64, 128),
        "VIEWERS": 1,
        "WARM_S": 0,
        "TRIAL_S": 0.5,
        "ROUNDS": 1,
        "CHROMIUM": None,
    }.items():
        monkeypatch.setattr(bench_serve, constant, lean)
    monkeypatch.setattr(lossless, "highest", lambda shape: 10.0)
    for constant, brief in {"TRIAL_S": 0.5, "ROUNDS": 1, "VIEWERS": 1}.items():
        monkeypatch.setattr(lossless, constant, brief)
    for constant, other in (("FRAMES", 1600), ("FRAMES_WITHOUT", 160), ("LINK_WIDTHS", "commit")):
        monkeypatch.setattr(bench_pcie, constant, other)
    for constant, few in (("PACKETS", 300), ("RESETS", 5), ("IN_A_ROW", 40)):
        monkeypatch.setattr(bench_detector_tx, constant, few)
    for constant, few in (("CORRECTED_PACKETS", 300), ("CORRECTED_RESETS", 5)):
        monkeypatch.setattr(bench_detector_tx, constant, few)
    monkeypatch.setattr(bench_ptp, "CASES", bench_ptp.CASES[:1])
    monkeypatch.setattr(bench_ptp, "DISTURBANCES", ptp_disturbances.DISTURBANCES[:1])
    monkeypatch.setattr(bench_ptp, "TRIGGERS", 20)
    monkeypatch.setattr(bench_rc, "COST_FRAMES", 8)
    monkeypatch.setattr(bench_rc_store, "DEPTHS", (64,))
    monkeypatch.setattr(bench_rc, "DEAD_FRAMES", 10)
    monkeypatch.setattr(bench_rc, "DEAD_LIMITS", replace(bench_rc.DEAD_LIMITS, retries=1, backoff=0))
    status, out, err = run_cli("bench", name, "--output", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.json"], err
    document = json.loads((tmp_path / f"{name}.json").read_text())
    missed = [target["what"] for target in document["targets"] if not target["met"]]
    assert (status, err.count("\n")) == (int(bool(missed)), len(missed)), err
    assert list(document) == ["name", "date", "commit", "machine", "rows", "targets"]
    assert document["name"] == name
    assert all(row.keys() == document["rows"][0].keys() for row in document["rows"])
    for target in document["targets"]:
        assert list(target) == ["what", "value", "unit", "limit", "better", "met"]
        assert target["what"] in out


def test_a_4m_image_passes_the_gateware_in_under_10_seconds_without_bubbles(run_cli: RunCli, tmp_path: Path) -> None:
    run_cli("bench", "tx", "--output", tmp_path)
    for row in json.loads((tmp_path / "tx.json").read_text())["rows"]:
        assert row["image_bytes"] == 8 << 20
        assert row["wall_s"] < 10
        assert row["cycles"] == {"only": 135_251, "message": 133_204}[row["segmentation"]], "the same on every machine"


def test_an_unknown_bench_is_one_sentence_with_the_names_of_the_others(run_cli: RunCli, tmp_path: Path) -> None:
    status, _, err = run_cli("bench", "nosuch", "--output", tmp_path)
    assert (status, err) == (
        2,
        "framelane: there is no bench nosuch: choose one of "
        "roce_tx, tx, placement, rc, rc_store, mac_port, pcie, ptp, detector_tx, pipeline, jf_correct, pedestal, "
        "softnic, detector, link, files, serve, gpu, gpu_peaks, gpu_pipeline, gpu_ranks\n",
    )


@pytest.mark.parametrize(
    ("value", "better", "met"),
    [(9.9, "lower", True), (10.1, "lower", False), (9.9, "higher", False), (10.1, "higher", True)],
)
def test_a_missed_target_is_written_as_missed(tmp_path: Path, value: float, better: str, met: bool) -> None:
    target = Target(what="speed", value=value, unit="s", limit=10, better="lower" if better == "lower" else "higher")
    document = json.loads(save("speed", Measurement([{"s": value}], [target]), tmp_path).read_text())
    assert document["targets"][0]["met"] is met


def test_a_missed_promise_is_an_exit_status_with_its_name(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Target(what="cycles", value=4, unit="", limit=4, better="lower")
    targets = [
        kept,
        Target(what="speed", value=9.5, unit="GB/s", limit=10, better="higher"),
        Target(what="time", value=2, unit="s", limit=1, better="lower"),
    ]
    monkeypatch.setattr(bench_tx, "measure", lambda: Measurement([{"s": 1}], targets))
    status, out, err = run_cli("bench", "tx", "--output", tmp_path)
    assert status == 1
    assert err == (
        "framelane: tx: speed: 9.5 GB/s, promised >= 10: MISSED\nframelane: tx: time: 2 s, promised <= 1: MISSED\n"
    )
    assert "cycles: 4, promised <= 4: met" in out
    assert (tmp_path / "tx.json").is_file(), "what was measured is written all the same"
    targets[:] = [kept]
    assert run_cli("bench", "tx", "--output", tmp_path)[0] == 0
