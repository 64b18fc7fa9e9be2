"""What `framelane board` prints with `--json`: what a board is, and what it was configured with."""

import hashlib
import json
from dataclasses import asdict
from typing import Any

from rich.console import Console

from framelane.base.progress import say
from framelane.cli.board import board_status
from framelane.driver import Board, BoardConfig
from framelane.driver.board.network import gives_up_after_s, settles_s, silence_s
from framelane.driver.board.station import text
from framelane.models.jungfrau import jf_constants
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx.roce_qp import Service
from framelane.models.station.roce_rx import FIRST_QPN


def show(document: dict[str, Any], console: Console) -> None:
    """Print a document."""
    say(console, json.dumps(document, indent=2))


def probed(board: Board) -> dict[str, Any]:
    """What the board is (`capabilities`), its state, its errors, and in `wrong` a sentence for all that is wrong."""
    capabilities, state, errors = board.probe(), board.state(), board.errors()
    wrong = errors.sentences() + state.sentences()
    return {
        "wrong": wrong + board_status.sentences(board.station(), board.queue_pairs(), {}),
        "capabilities": asdict(capabilities),
        "state": asdict(state),
        "errors": asdict(errors),
    }


def configured(config: BoardConfig) -> dict[str, Any]:
    """What the entries of the board hold now; times in seconds, sizes in pixels or bytes."""
    return {
        "flows": [_flow(config, index) for index in range(len(config.flows))],
        "queue_pairs": [_queue_pair(config, index, name) for index, name in board_status.names_of(config).items()],
        "constants": _constants(config),
        "armed": False,
    }


def _flow(config: BoardConfig, index: int) -> dict[str, Any]:
    flow = config.tx.flows[index]
    entries = range(flow.first_destination, flow.first_destination + flow.destinations)
    return {
        "name": config.flows[index],
        "width": flow.width,
        "height": flow.height,
        "corrected": config.correction is not None and flow.source_offset == config.correction.offset,
        "destinations": [
            {
                "index": entry,
                "name": config.destinations[entry],
                "queue_pair": config.tx.destinations[entry].qp,
                "credit": None if config.credit[entry] == FREE_RUNNING else config.credit[entry],
            }
            for entry in entries
        ],
    }


def _queue_pair(config: BoardConfig, index: int, name: str) -> dict[str, Any]:
    qp = config.tx.qps[index]
    found = {
        "index": index,
        "name": name,
        "service": qp.service.name,
        "mac": text(qp.dst.mac),
        "mac_by_arp": config.network.asked_of(index) is not None,
    }
    if qp.service is not Service.RC:
        return found
    limits = config.network.limits_of(index, qp)
    return found | {
        "number": FIRST_QPN + index,
        "window": limits.window,
        "gives_up_after_s": [silence_s(limits), gives_up_after_s(limits)],
        "settles_s": settles_s(limits),
    }


def _constants(config: BoardConfig) -> dict[str, Any] | None:
    if config.correction is None:
        return None
    packed = jf_constants.pack(config.correction.fixed, config.correction.pitch)
    return {
        "address": config.correction.base,
        "bytes": len(packed),
        "sha256": hashlib.sha256(packed).hexdigest(),
    }
