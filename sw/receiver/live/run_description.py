"""What is known of the experiment of a run."""

from pathlib import Path

from framelane.receiver.geometry.describe import describe
from framelane.receiver.live.packet_source import Live
from framelane.receiver.live.reception import Reception
from framelane.receiver.sinks.description import Description
from framelane.session.metadata import Metadata
from framelane.session.plan_file import load_metadata


def metadata_of(run: Reception, metadata: Metadata) -> Metadata:
    """The metadata that were given, and behind them what the plan of a live run says of the experiment."""
    plan = run.source.plan if isinstance(run.source, Live) else None
    return load_metadata(plan).updated(metadata) if isinstance(plan, Path) else metadata


def describe_run(run: Reception, metadata: Metadata) -> Description:
    """The description of the images of a run. InputError where what is known does not go together."""
    made = run.prepared
    return describe(
        metadata_of(run, metadata),
        (run.session.rows, run.session.columns),
        photon_energy_kev=made.photon_energy_kev,
        usable=made.usable,
    )
