"""`make hls` where Vitis is: what its report must say, and what happens if it does not. Here Vitis itself is played."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hls
from framelane.base.errors import InputError, SimulationError
from hls_report import violations

REPORT = """<profile>
<ReportVersion><Version>2023.2</Version></ReportVersion>
<UserAssignments><unit>ns</unit><TopModelName>jf_correct</TopModelName>
  <TargetClockPeriod>3.70</TargetClockPeriod><ClockUncertainty>1.00</ClockUncertainty></UserAssignments>
<PerformanceEstimates><PipelineType>dataflow</PipelineType>
  <SummaryOfTimingAnalysis><unit>ns</unit><EstimatedClockPeriod>2.650</EstimatedClockPeriod></SummaryOfTimingAnalysis>
</PerformanceEstimates>
<ModuleInformation>
  <Module><Name>fetch_Pipeline_fetch_beats</Name><PerformanceEstimates>
    <SummaryOfTimingAnalysis><EstimatedClockPeriod>2.700</EstimatedClockPeriod></SummaryOfTimingAnalysis>
    <SummaryOfLoopLatency><fetch_frames><Name>fetch_frames</Name><TripCount>undef</TripCount>
      <fetch_beats><Name>fetch_beats</Name><PipelineII>1</PipelineII><PipelineType>yes</PipelineType></fetch_beats>
    </fetch_frames></SummaryOfLoopLatency></PerformanceEstimates></Module>
  <Module><Name>correct</Name><PerformanceEstimates>
    <SummaryOfTimingAnalysis><EstimatedClockPeriod>2.600</EstimatedClockPeriod></SummaryOfTimingAnalysis>
    <SummaryOfLoopLatency><correct_beats><Name>correct_beats</Name><Slack>2.70</Slack>
      <PipelineII>1</PipelineII></correct_beats></SummaryOfLoopLatency></PerformanceEstimates></Module>
</ModuleInformation>
</profile>"""

SLOW_PIPELINE = REPORT.replace(
    "<PipelineII>1</PipelineII></correct_beats>", "<PipelineII>2</PipelineII></correct_beats>"
)
NESTED_SLOW_PIPELINE = REPORT.replace(
    "<PipelineII>1</PipelineII><PipelineType>", "<PipelineII>3</PipelineII><PipelineType>"
)
NO_PIPELINE = REPORT.replace("<PipelineII>1</PipelineII></correct_beats>", "<Latency>undef</Latency></correct_beats>")
LATE_MODULE = REPORT.replace("2.700<", "2.701<")
LATE_TOP = REPORT.replace("2.650<", "3.699<")


def test_a_report_of_a_beat_a_clock_in_time_is_accepted() -> None:
    assert violations(REPORT) == []


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (SLOW_PIPELINE, "correct: the pipeline correct_beats takes a beat every 2 clocks, not every clock"),
        (NESTED_SLOW_PIPELINE, "fetch_Pipeline_fetch_beats: the pipeline fetch_beats takes a beat every 3 clocks"),
        (NO_PIPELINE, "the loop correct_beats is not a pipeline"),
        (LATE_MODULE, "fetch_Pipeline_fetch_beats: the estimated clock period is 2.701 ns, there are 2.7 ns"),
        (LATE_TOP, "jf_correct: the estimated clock period is 3.699 ns, there are 2.7 ns (3.7 less 1 of uncertainty)"),
    ],
)
def test_a_violation_is_a_sentence_that_names_the_module(report: str, sentence: str) -> None:
    (found,) = violations(report)
    assert found.startswith(sentence)


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ("", "is not XML"),
        (REPORT[:-20], "is not XML"),
        ("<profile/>", "has no number in UserAssignments/TargetClockPeriod"),
        (REPORT.replace("2.650", "undef"), "has no number in PerformanceEstimates/SummaryOfTimingAnalysis"),
    ],
)
def test_what_is_no_report_is_refused(report: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        violations(report)


PLAYED = """#!{python}
import os, pathlib, sys
script = pathlib.Path(sys.argv[-1])
print("played", *sys.argv[1:])
if script.stem == "synthesize":
    assert pathlib.Path(os.environ["FRAMELANE_HLS_VECTORS"]).stat().st_size
    assert float(os.environ["FRAMELANE_HLS_PERIOD_NS"]) == 3.7
    report = pathlib.Path("jf_correct/solution/syn/report/csynth.xml")
    report.parent.mkdir(parents=True)
    report.write_text({report!r})
elif script.stem == "export":
    pathlib.Path(os.environ["FRAMELANE_HLS_IP"]).write_text(os.environ["FRAMELANE_HLS_PART"])
sys.exit({status})
"""


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put a program on PATH that plays Vitis; return the folder for what is built."""

    def make(name: str, report: str = REPORT, status: int = 0) -> Path:
        programs, folder = tmp_path / "bin", tmp_path / "hls"
        programs.mkdir()
        (programs / name).write_text(PLAYED.format(python=sys.executable, report=report, status=status))
        (programs / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(programs))
        folder.mkdir()
        (folder / "jf_correct.zip").write_text("an older IP")
        return folder

    return make


@pytest.mark.parametrize(("program", "arguments"), [("vitis_hls", "-f"), ("vitis-run", "--mode hls --tcl")])
def test_every_vitis_gets_its_own_command_line(
    play: Callable[..., Path], capsys: pytest.CaptureFixture[str], program: str, arguments: str
) -> None:
    folder = play(program)
    assert hls.main(["--part", "xcu200-fsgd2104-2-e"], folder) == 0
    assert (folder / "jf_correct.zip").read_text() == "xcu200-fsgd2104-2-e"
    assert (folder / "synthesize.log").read_text().startswith(f"played {arguments} /")
    assert "a beat a clock" in capsys.readouterr().out


def test_a_violation_ends_it_without_an_ip(play: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = play("vitis_hls", SLOW_PIPELINE)
    assert hls.main([], folder) == 1
    assert not (folder / "jf_correct.zip").exists()
    assert "every 2 clocks" in capsys.readouterr().err


def test_a_failure_of_vitis_ends_it_without_an_ip(play: Callable[..., Path]) -> None:
    folder = play("vitis-run", status=1)
    with pytest.raises(SimulationError, match=r"vitis-run failed in synthesize.tcl: see .*synthesize.log"):
        hls.main([], folder)
    assert not (folder / "jf_correct.zip").exists()


def test_without_vitis_it_simulates_and_says_so_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hls, "VITIS", (("no-such-vitis", "-f"),))
    assert hls.main([], tmp_path) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "not synthesized" in line


def test_a_simulation_that_differs_from_the_model_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hls, "VITIS", ())
    monkeypatch.setattr(hls, "standard", list)
    with pytest.raises(SimulationError, match=r"the C simulation failed: .* holds no start"):
        hls.main([], tmp_path)
