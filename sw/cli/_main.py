"""The commands and their options. What they do is imported when it is needed: `framelane --help` is quick."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from framelane.base.errors import FramelaneError
from framelane.cli import control, correct, doctor, emulate, geometry, master, recover, replay, serve, tap, whatif
from framelane.cli.board import board
from framelane.cli.calibration import calibrate
from framelane.cli.file_options import takes_file_options
from framelane.cli.force import Force
from framelane.cli.jungfrau import jungfrau
from framelane.cli.option_names import sentence
from framelane.cli.recv import recv
from framelane.cli.terminal import Terminal, orderly_end

if TYPE_CHECKING:
    from framelane.receiver import FileOptions

app = typer.Typer(
    help="Detector frames from the FPGA straight into host or GPU memory over RoCEv2, processed as they arrive.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.add_typer(board.app, name="board")
app.add_typer(calibrate.app, name="calibration")
app.add_typer(geometry.app, name="geometry")
app.add_typer(jungfrau.app, name="jungfrau")

_STATUS = """Exit status 0: {good}.

1: {bad}.

2: bad input; one sentence says what. Nothing is written.

128 + n: {signal}."""
_DEMO_GOOD = "every frame is as it was sent, except for exactly the packets that --drop lost"
_DEMO_BAD = "something else is wrong; the output says what"
_DEMO_SIGNAL = "ended by signal n; nothing is written"
_RECV_GOOD = (
    "frames were received and the loss identity holds; incomplete frames and refused packets are reported. With "
    "--strict, every frame that was sent is complete. With --expect, there are also exactly so many"
)
_RECV_BAD = (
    "nothing was received, the identity does not hold, --strict or --expect is not met, or the run failed; what "
    "could be written is written"
)
_RECV_SIGNAL = (
    "ended by signal n while a capture was read, or before frames could come; nothing is written. A signal ends a "
    "live run in order: what has arrived is written, and the status is 0 or 1"
)


def main() -> None:
    """Run the command line. Bad input is one sentence on stderr, and exit status 2."""
    with orderly_end():
        try:
            app(prog_name="framelane")  # also for `python -m framelane`
        except KeyboardInterrupt:  # before or behind a command, which ends in this way by itself
            sys.exit(128 + signal.SIGINT)
        except FramelaneError as error:
            _fail(sentence(error))
        except UnicodeError as error:  # bytes of an argument that are not text, say
            _fail(f"an argument or a name is not text in UTF-8: {error}")
        except OSError as error:  # the disk is gone, say
            _fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))


def _fail(sentence: str) -> NoReturn:
    said = sentence.encode(errors="backslashreplace").decode()  # the name of a file may be no text
    print(f"framelane: {said}", file=sys.stderr)
    sys.exit(2)


def _print_version(wanted: bool) -> None:
    if wanted:
        from framelane import __version__

        print(f"framelane {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command(epilog=_STATUS.format(good=_DEMO_GOOD, bad=_DEMO_BAD, signal=_DEMO_SIGNAL))
@takes_file_options
def demo(
    options: "FileOptions",
    input: Annotated[
        Path | None, typer.Option(help="HDF5 file with raw frames and their calibration (docs/reference/files.md).")
    ] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="HDF5 file with the calibration, where --input has none.")
    ] = None,
    frames: Annotated[int | None, typer.Option(help="Frames to send; default all, but at most 6.")] = None,
    modules: Annotated[int | None, typer.Option(help="Simulate a detector of so many modules of 512 x 1024.")] = None,
    correct: Annotated[
        Literal["host", "gateware"],
        typer.Option(help="Where raw words become photons: on the host, or in the gateware."),
    ] = "host",
    drop: Annotated[float, typer.Option(help="Share of the packets that is lost on the way, 0 to 1.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the simulated detector and of the losses.")] = 1,
    mtu: Annotated[int, typer.Option(help="Path MTU: bytes of payload in a packet.")] = 4096,
    segmentation: Annotated[
        Literal["only", "message"], typer.Option(help="Every packet a WRITE ONLY, or FIRST, MIDDLE, LAST.")
    ] = "only",
    slots: Annotated[int, typer.Option(help="Slots of the receiver's ring.")] = 4,
    slot_bytes: Annotated[int | None, typer.Option(help="Bytes of a slot; default what a frame needs.")] = None,
    transport: Annotated[
        Literal["udp", "packet", "pcie"],
        typer.Option(help="A UDP socket, AF_PACKET on an interface (as root), or PCIe: no packets, no --drop."),
    ] = "udp",
    port: Annotated[int, typer.Option(help="UDP port to listen on; 0: any that is free.")] = 0,
    interface: Annotated[str, typer.Option(help="Interface to receive on, with --transport packet.")] = "lo",
    send_interface: Annotated[str | None, typer.Option(help="Interface to send on; default the same.")] = None,
    width: Annotated[int, typer.Option(help="Bus of the gateware, in bits: 64 to 1024.")] = 512,
    output: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("build/demo"),
    threshold: Annotated[int, typer.Option(help="Photons from which a pixel is a peak.")] = 20,
    force: Force = False,
) -> None:
    """Send frames through the gateware and receive them: captures, images and a report, with no hardware.

    The frames are those of --input, else the real ones in $FRAMELANE_DATA or ../shared/data, else simulated.
    """
    from framelane.demo.demo import DemoOptions, run
    from framelane.demo.link import LinkOptions

    chosen = DemoOptions(
        input=input,
        calibration=calibration,
        frames=frames,
        modules=modules,
        correct=correct,
        drop=drop,
        seed=seed,
        mtu=mtu,
        segmentation=segmentation,
        slots=slots,
        slot_bytes=slot_bytes,
        link=LinkOptions(transport=transport, port=port, interface=interface, send_interface=send_interface),
        width=width,
        output=output,
        threshold=threshold,
        file=options,
        force=force,
    )
    if run(chosen, Terminal()).faults():
        raise typer.Exit(1)


app.command(epilog=_STATUS.format(good=_RECV_GOOD, bad=_RECV_BAD, signal=_RECV_SIGNAL))(recv.recv)
app.command(epilog=emulate.STATUS)(emulate.emulate)
app.command(epilog=replay.STATUS)(replay.replay)
app.command(epilog=whatif.STATUS)(whatif.whatif)
app.command(epilog=master.STATUS)(master.master)
app.command(epilog=recover.STATUS)(recover.recover)
app.command(epilog=serve.STATUS)(serve.serve)
app.command(epilog=control.STATUS)(control.epics)
app.command(epilog=control.STATUS)(control.tango)
app.command(epilog=doctor.STATUS)(doctor.doctor)
app.command(epilog=tap.STATUS, context_settings={"allow_interspersed_args": False})(tap.tap)
app.command(epilog=correct.STATUS)(correct.correct)


@app.command()
def bench(
    name: Annotated[str | None, typer.Argument(help="Which bench; default all.")] = None,
    output: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("build/bench"),
    docs: Annotated[Path | None, typer.Option(help="Folder for the pages that some benches write, if wanted.")] = None,
    force: Force = False,
) -> None:
    """Measure, print tables, write them as JSON with what was promised. Exit status 1 where a promise is missed."""
    from framelane.bench.runner import run

    if missed := run(name, output, docs, Terminal(), force=force):
        for sentence in missed:
            typer.echo(f"framelane: {sentence}", err=True)
        raise typer.Exit(1)
