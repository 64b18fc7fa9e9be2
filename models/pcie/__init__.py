"""Models of the PCIe write path: where a ring's bytes lie on the bus, and the TLPs that carry them there."""
