"""The Verilated packetizer alone: stalls change cycles and no byte, cycles belong to their packet, nothing hangs."""

import dataclasses
import random
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import ConfigError, InputError, SimulationError
from framelane.bench.transmitter.roce_tx_cycles import LOCAL, every_kind
from framelane.driver.simulated import verilated_roce_tx
from framelane.driver.simulated.simulation import MAX_QPS
from framelane.driver.simulated.verilated_roce_tx import RoceTxSimulator, Stalls, Traffic
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.roce_segment import MAX_MESSAGE_BYTES, Message, Status
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.roce_tx.wire import Endpoint

QPS = every_kind()
NO_STALLS = Stalls()
DISABLED = 3
TABLE = (*QPS[:DISABLED], dataclasses.replace(QPS[DISABLED], enabled=False), *QPS[DISABLED + 1 :])


def qp(**changes: Any) -> QpContext:
    return QpContext(Endpoint(1, 2), dest_qpn=3, rkey=4, mtu=256, **changes)


def run(stalls: Stalls = NO_STALLS, seed: int = 1) -> Traffic:
    """Run the same random messages each time, all of them served."""
    chance = random.Random(3)
    with RoceTxSimulator(LOCAL, QPS, stalls=stalls, seed=seed) as simulator:
        for _ in range(60):
            length = chance.randint(1, 1500)
            simulator.send(Message(chance.getrandbits(64), length, chance.randrange(MAX_QPS)), chance.randbytes(length))
        return simulator.run()


@pytest.mark.parametrize("side", ["message", "payload", "sink"])
def test_a_side_that_pauses_costs_cycles_and_changes_no_byte(side: str) -> None:
    calm, paused = run(), run(Stalls(**{side: 0.9}))
    assert paused.packets == calm.packets
    assert paused.statuses == calm.statuses
    assert paused.cycles["last"][-1] > calm.cycles["last"][-1] * (1 if side == "message" else 5)
    assert calm.bubbles == paused.unexplained_bubbles == 0
    assert bool(paused.bubbles) == (side != "sink")


def test_pauses_are_those_of_the_seed() -> None:
    first, same, other = (run(Stalls(0.3, 0.3, 0.3), seed) for seed in (7, 7, 8))
    assert (first.cycles == same.cycles).all()
    assert (first.cycles != other.cycles).any()


def test_cycles_belong_to_their_packets_though_messages_fail() -> None:
    model = RoceTx(LOCAL, TABLE)
    packets, statuses, owners = [], [], []
    with RoceTxSimulator(LOCAL, TABLE, 256, Stalls(payload=0.2, sink=0.2)) as simulator:
        cases = [
            (700, 0, 700),
            (700, 0, 300),
            (700, 0, 256),
            (700, 2, 900),
            (900, DISABLED, 900),
            (0, 0, 0),
            (5, 200, 9),
        ]
        cases += [(MAX_MESSAGE_BYTES + 1, 0, 70), (300, 1, 1), (1, 2, 1), (1000, 2, 1000)]
        for number, (length, index, stream) in enumerate(cases):
            message, payload = Message(0, length, index), random.Random(number).randbytes(stream)
            simulator.send(message, payload)
            status, sent = model.send(message, payload)
            packets += sent
            statuses.append((status, index))
            owners += [number] * len(sent)
        traffic = simulator.run()
    assert traffic.packets == packets
    assert traffic.statuses == statuses
    assert {status for status, _ in statuses} == set(Status) - {Status.BAD_PAYLOAD}
    cycles = traffic.cycles
    assert (np.diff(cycles["message"].astype(int)).astype(bool) == np.diff(owners).astype(bool)).all()
    assert (cycles["message"] < cycles["payload"]).all()
    assert (cycles["payload"] < cycles["last"]).all()
    assert (cycles["first"] <= cycles["last"]).all()
    assert (cycles["first"][1:] > cycles["last"][:-1]).all()


def test_a_bubble_that_no_side_explains_is_counted() -> None:
    with RoceTxSimulator(LOCAL, (qp(rate=1 << 18, burst=1), qp())) as simulator:
        for index in (0, 1, 0):
            simulator.send(Message(0, 1024, index), bytes(1024))
        limited = simulator.run()
        simulator.send(Message(0, 1024, 1), bytes(1024))
        assert simulator.run().bubbles == 0, "those of the run before are forgotten"
    assert limited.unexplained_bubbles == limited.bubbles > 500


def test_nothing_sent_is_nothing_out() -> None:
    with RoceTxSimulator(LOCAL, QPS) as simulator:
        traffic = simulator.run()
    assert (traffic.packets, traffic.statuses, len(traffic.cycles), traffic.bubbles) == ([], [], 0, 0)


@pytest.mark.parametrize(("length", "stream"), [(0, 1), (1, 0)])
def test_a_payload_stream_that_would_pass_for_another_messages_is_refused(length: int, stream: int) -> None:
    with RoceTxSimulator(LOCAL, QPS) as simulator, pytest.raises(InputError, match=f"of {length} bytes cannot have"):
        simulator.send(Message(0, length), bytes(stream))


def test_work_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verilated_roce_tx, "PATIENCE", 1000)
    with RoceTxSimulator(LOCAL, (qp(rate=1, burst=1),)) as simulator:
        simulator.send(Message(0, 600), bytes(600))
        with pytest.raises(SimulationError, match="nothing moved for 1000 cycles"):
            simulator.run()


def test_impossible_simulators_are_refused() -> None:
    with pytest.raises(SimulationError, match="choose one of 64, 128"):
        RoceTxSimulator(LOCAL, QPS, 96)
    with pytest.raises(ConfigError, match="a stall share of 1"):
        RoceTxSimulator(LOCAL, QPS, stalls=Stalls(payload=1.0))
    with pytest.raises(ConfigError, match="16 at most"):
        RoceTxSimulator(LOCAL, QPS * 2)


def test_a_closed_simulator_says_so() -> None:
    simulator = RoceTxSimulator(LOCAL, QPS)
    simulator.close()
    with pytest.raises(SimulationError, match="closed"):
        simulator.run()
