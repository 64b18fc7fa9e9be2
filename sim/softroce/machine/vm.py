"""Runs a command where the Linux SoftRoCE driver is: on this kernel if it has rdma_rxe, else in a virtual machine.

    .venv/bin/python sim/softroce/machine/vm.py [--share DIR] [--timeout S] -- COMMAND [ARGUMENT ...]

The command finds the RDMA device $RDMA_DEVICE and may send packets to it from the interface $RDMA_SENDER: see
`rdma_link.py` for these variables. It sees this computer's files, read-only, and writes to the folder $SHARE. Its
output and exit status become this one's; status 124: it did not end in time, 125: the guest ended before it, 2:
something is missing here. Without a command all is made ready, and nothing started.
"""

import argparse
import contextlib
import signal
import sys
import tempfile
from pathlib import Path

from errors_of_runs import GuestEnded, TimedOut
from framelane.base.errors import FramelaneError
from machine import Machine
from rdma_testbed import choose
from run import Run

MISSING, TIMED_OUT, ENDED = 2, 124, 125


def main(arguments: list[str]) -> int:
    """Exit status of the command in `arguments`."""
    parser = argparse.ArgumentParser(description="Run a command where the Linux SoftRoCE driver is.")
    parser.add_argument(
        "--share", type=Path, help="folder that the command may write to (default: one that is removed)"
    )
    parser.add_argument("--timeout", type=float, default=300, help="seconds, with the start (default: 300)")
    parser.add_argument("--where", choices=("auto", "here", "machine"), default="auto", help="(default: auto)")
    parser.add_argument("--memory", type=int, default=2048, help="of the machine, in MiB (default: 2048)")
    parser.add_argument("--cpus", type=int, default=1, help="of the machine (default: 1)")
    parser.add_argument("command", nargs="*", help="after --")
    options = parser.parse_args(arguments)
    try:
        testbed = choose(options.where, Machine(options.memory, options.cpus))
        if not options.command:
            print(f"ready: commands run in {testbed.name}")
            return 0
        with contextlib.ExitStack() as stack:
            share = options.share or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="softroce-")))
            share.mkdir(parents=True, exist_ok=True)
            run = stack.enter_context(Run(testbed, options.command, share, timeout_s=options.timeout))
            return run.wait(sys.stdout.buffer, sys.stderr.buffer).status
    except FramelaneError as error:
        print(f"softroce: {error}", file=sys.stderr)
        return {TimedOut: TIMED_OUT, GuestEnded: ENDED}.get(type(error), MISSING)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(main(sys.argv[1:]))
