"""From packets in memory to images: ring, transports, pipeline and sinks; and the same for arrays and files at hand.

Public names: docs/reference/api.md.
"""

from typing import TYPE_CHECKING

from framelane.base.lazily import lazily

__all__ = [
    "Capture",
    "Correction",
    "FileOptions",
    "FollowedFrame",
    "FoundPart",
    "FoundRun",
    "Frame",
    "JudgingOptions",
    "Live",
    "Metadata",
    "Panel",
    "PeakSettings",
    "Processing",
    "RawFrames",
    "Reason",
    "Reception",
    "Recorder",
    "RunStatistics",
    "Stream",
    "StreamCounts",
    "StreamOptions",
    "Tally",
    "VetoReplay",
    "correct",
    "correct_file",
    "export_geometry",
    "find_peaks",
    "follow",
    "link_run",
    "read_geometry",
    "receive",
    "recover",
    "replay_veto",
]

if TYPE_CHECKING:
    from framelane.calibration.raw_frames import RawFrames
    from framelane.models.peaks.peak_settings import Panel, PeakSettings
    from framelane.receiver.geometry.correct_file import correct_file
    from framelane.receiver.geometry.export import export_geometry
    from framelane.receiver.geometry.geometry_file import load as read_geometry
    from framelane.receiver.live.frame import Frame
    from framelane.receiver.live.packet_source import Capture, Live
    from framelane.receiver.live.processing import Processing
    from framelane.receiver.live.reception import Reception, receive
    from framelane.receiver.live.recorder import Recorder
    from framelane.receiver.live.run_statistics import RunStatistics
    from framelane.receiver.peaks.peak_search import find_peaks
    from framelane.receiver.pipeline.correction import Correction, correct
    from framelane.receiver.pipeline.judging_options import JudgingOptions
    from framelane.receiver.pipeline.veto import Reason
    from framelane.receiver.recovery.following import FollowedFrame, follow
    from framelane.receiver.recovery.found_run import FoundPart, FoundRun, link_run, recover
    from framelane.receiver.ring.tally import Tally
    from framelane.receiver.sinks.file_options import FileOptions
    from framelane.receiver.sinks.what_if import VetoReplay, replay_veto
    from framelane.receiver.streams.stream import Stream
    from framelane.receiver.streams.stream_options import StreamOptions
    from framelane.receiver.streams.tee import StreamCounts
    from framelane.session.metadata import Metadata
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            # Arrays and files.
            "Correction": "framelane.receiver.pipeline.correction",
            "FileOptions": "framelane.receiver.sinks.file_options",
            "JudgingOptions": "framelane.receiver.pipeline.judging_options",
            "Metadata": "framelane.session.metadata",
            "Panel": "framelane.models.peaks.peak_settings",
            "PeakSettings": "framelane.models.peaks.peak_settings",
            "RawFrames": "framelane.calibration.raw_frames",
            "VetoReplay": "framelane.receiver.sinks.what_if",
            "correct": "framelane.receiver.pipeline.correction",
            "correct_file": "framelane.receiver.geometry.correct_file",
            "export_geometry": "framelane.receiver.geometry.export",
            "find_peaks": "framelane.receiver.peaks.peak_search",
            "read_geometry": "framelane.receiver.geometry.geometry_file:load",
            "replay_veto": "framelane.receiver.sinks.what_if",
            # Files of others that still run, or were killed.
            "FollowedFrame": "framelane.receiver.recovery.following",
            "follow": "framelane.receiver.recovery.following",
            "FoundPart": "framelane.receiver.recovery.found_run",
            "FoundRun": "framelane.receiver.recovery.found_run",
            "link_run": "framelane.receiver.recovery.found_run",
            "recover": "framelane.receiver.recovery.found_run",
            # The receiver, live or from a capture.
            "Capture": "framelane.receiver.live.packet_source",
            "Frame": "framelane.receiver.live.frame",
            "Live": "framelane.receiver.live.packet_source",
            "Processing": "framelane.receiver.live.processing",
            "Reception": "framelane.receiver.live.reception",
            "Reason": "framelane.receiver.pipeline.veto",
            "Recorder": "framelane.receiver.live.recorder",
            "RunStatistics": "framelane.receiver.live.run_statistics",
            "Stream": "framelane.receiver.streams.stream",
            "StreamCounts": "framelane.receiver.streams.tee",
            "StreamOptions": "framelane.receiver.streams.stream_options",
            "Tally": "framelane.receiver.ring.tally",
            "receive": "framelane.receiver.live.reception",
        },
    )
