"""What Prometheus reads of a service: parsed by its own client, and what the dashboard asks for is there."""

import json
import logging
import re
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from framelane.serve import Client
from framelane.serve.serving import JsonLines
from served import Served, configuration, served

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serve" / "README.md"
DASHBOARD = Path(__file__).resolve().parents[2] / "sw" / "serve" / "page" / "grafana.json"


def samples(here: Served) -> dict[tuple[str, str], float]:
    """By name and the value of the first label."""
    text = httpx.get(f"{here.url}/metrics").text
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_loss_identity_holds_over_runs_and_every_packet_that_is_refused_has_its_reason(tmp_path: Path) -> None:
    with served(tmp_path) as here, Client(here.url) as client:
        assert samples(here)["framelane_state", "idle"] == 1
        expected, refused, received = 0, 0, 0
        for frames in (12, 8):
            client.configure(configuration())
            client.arm()
            assert samples(here)["framelane_state", "armed"] == 1
            here.send(frames, rate=100, impair="corrupt:icrc=0.05")
            status = client.wait_for("ended", 30)
            packets = client.statistics()["packets"]
            expected, refused = expected + frames, refused + packets["refused"]["icrc"]
            received += packets["received"]
            found = samples(here)
            fates = {label: value for (name, label), value in found.items() if name == "framelane_frames_total"}
            assert found["framelane_frames_expected_total", ""] == expected == sum(fates.values())
            assert found["framelane_loss_identity_holds", ""] == 1
            assert found["framelane_packets_refused_total", "icrc"] == refused > 0
            assert found["framelane_packets_received_total", ""] == received
            placed = found["framelane_packets_placed_total", ""]
            assert received == placed + sum(
                v for (name, _), v in found.items() if name == "framelane_packets_refused_total"
            )
            assert found["framelane_frame_write_seconds_count", ""] == expected - fates["missing"]
            assert status["slots"] == found["framelane_ring_slots", ""] == 64
            assert found["framelane_pipeline_frames", ""] == 0
        assert found["framelane_runs_total", "ended"] == 2
        dashboard_asks_for(here)


def families(here: Served) -> set[str]:
    """The names that a query may ask for, also of those families that have no sample just now."""
    found = set()
    for family in text_string_to_metric_families(httpx.get(f"{here.url}/metrics").text):
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        if not family.name.endswith("_created"):  # when a histogram began, which the client adds
            found |= {f"{family.name}{suffix}" for suffix in suffixes}
    return found


def dashboard_asks_for(here: Served) -> None:
    """Every metric that the dashboard names is one of the service, and every one of the service is in its page."""
    dashboard = json.loads(DASHBOARD.read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    named = {name for text in asked for name in re.findall(r"framelane_\w+", text)}
    known = families(here)
    assert len(named) >= 18
    assert named <= known
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    taken = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(taken) == len(set(taken)), "no panel lies on another"
    said = PAGE.read_text()
    for name in known:
        bare = re.sub("_(bucket|sum|count)$", "", name)
        assert bare in said or bare.removeprefix("framelane_").removesuffix("_total") in said, name


def test_a_line_of_the_log_is_json_with_its_time_and_traceback() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        record = logging.LogRecord(
            "framelane.serve", logging.ERROR, "", 0, "it %s", ("failed",), (type(error), error, None)
        )
    line = JsonLines().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["logger"], found["message"]) == ("error", "framelane.serve", "it failed")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["time"])
    assert "ValueError: two" in found["traceback"]


def test_what_a_line_is_about_are_keys_of_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "framelane.serve"), served(tmp_path) as here, Client(here.url) as client:
        client.configure(configuration())
        client.arm()
        here.send(3)
        client.wait_for("ended", 30)
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records if record.name == "framelane.serve"]
    over = next(line for line in lines if "is over" in line["message"])
    assert (over["run"], over["file"], over["loss"]["complete"]) == (1, "run_000001.h5", 3)
    assert [line["state"] for line in lines if "state" in line][-1] == "ended"
