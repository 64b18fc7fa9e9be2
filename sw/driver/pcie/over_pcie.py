"""What a transmitter sends, as it is over PCIe: offsets in a ring instead of addresses, an engine instead of a QP."""

from dataclasses import replace

from framelane.models.tx import TxConfig


def over_pcie(config: TxConfig, engine: int = 0) -> TxConfig:
    """The same with offsets in the ring for addresses, and all destinations on one engine."""
    on_ring = tuple(replace(destination, base=0, qp=engine) for destination in config.destinations)
    return replace(config, destinations=on_ring, qps=config.qps[:1] * (engine + 1))
