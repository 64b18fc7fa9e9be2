"""The Verilated transmitter as a board: packets equal the golden model at every width, nothing hangs unnoticed."""

import dataclasses
import random
from collections.abc import Callable

import pytest

from framelane.base.errors import ConfigError, SimulationError
from framelane.driver.simulated.library import WIDTHS
from framelane.driver.simulated.simulation import MAX_QPS
from framelane.driver.simulated.verilated import TxSimulator
from framelane.models.placement.flow import FrameEvent
from framelane.models.tx import Tx
from framelane.session.session import Session

MakeSession = Callable[..., Session]
PAGE = 4096


@pytest.mark.parametrize("segmentation", ["only", "message"])
@pytest.mark.parametrize("width", WIDTHS)
def test_packets_equal_the_model_at_every_width(width: int, segmentation: str, make_session: MakeSession) -> None:
    chance = random.Random(width)
    session = make_session(rows=33, columns=77, mtu=512, segmentation=segmentation)
    config = session.tx_config()
    images = [chance.randbytes(session.image_bytes) for _ in range(5)]
    stride = -(-session.image_bytes // PAGE) * PAGE
    model = Tx(config, lambda address, length: images[address // stride][address % stride :][:length])
    with TxSimulator(config, width, latency=50, memory_stall=0.2, sink_stall=0.3) as simulator:
        expected, packets = [], []
        for k, number in enumerate((0, 1, 5, 6, 1 << 40)):
            event = FrameEvent(number, chance.getrandbits(64), chance.getrandbits(64), k * stride)
            simulator.write_memory(event.address, images[k])
            simulator.offer(event)
            packets += simulator.run()
            expected += model.frame(event)
        assert packets == expected
        counters = simulator.counters()
    assert (counters.destinations[0].sent, counters.packets, counters.read_errors) == (5, len(packets), 0)
    assert counters.destinations[0].skipped == (1 << 40) - 4


def test_work_that_does_not_end_is_an_error(make_session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make_session()
    with TxSimulator(session.tx_config(), latency=1000) as simulator:
        monkeypatch.setattr(simulator, "_patience", 900)
        simulator.offer(FrameEvent(0, 0, 0, 0))
        with pytest.raises(SimulationError, match="nothing moved for 900 cycles"):
            simulator.run()


def test_a_disabled_qp_drains_its_frames_before_the_run_ends(make_session: MakeSession) -> None:
    session = make_session()
    config = session.tx_config()
    config = dataclasses.replace(config, qps=(dataclasses.replace(config.qps[0], enabled=False),))
    with TxSimulator(config, latency=500, memory_stall=0.9) as simulator:
        simulator.write_memory(0, bytes(session.image_bytes))
        simulator.offer(FrameEvent(0, 0, 0, 0))
        assert simulator.run() == []
        counters = simulator.counters()
        assert (counters.bad_qp, counters.destinations[0].failed) == (2, 1)


def test_a_frame_outside_the_memory_is_counted(make_session: MakeSession) -> None:
    session = make_session()
    with TxSimulator(session.tx_config()) as simulator:
        simulator.offer(FrameEvent(0, 0, 0, (1 << 64) - 64))
        simulator.run()
        counters = simulator.counters()
        assert counters.read_errors == -(-session.image_bytes // 64)
        assert (counters.destinations[0].failed, counters.bad_payload, simulator.released) == (1, 1, 1)


def test_impossible_simulators_are_refused(make_session: MakeSession) -> None:
    config = make_session().tx_config()
    with pytest.raises(SimulationError, match="choose one of 64, 128"):
        TxSimulator(config, 96)
    with pytest.raises(ConfigError, match="stall"):
        TxSimulator(config, sink_stall=1.0)
    with pytest.raises(ConfigError, match="17 qps, but this build of the transmitter only 16"):
        TxSimulator(dataclasses.replace(config, qps=config.qps * (MAX_QPS + 1)))


def test_a_closed_simulator_says_so(make_session: MakeSession) -> None:
    simulator = TxSimulator(make_session().tx_config())
    simulator.close()
    with pytest.raises(SimulationError, match="closed"):
        simulator.run()
