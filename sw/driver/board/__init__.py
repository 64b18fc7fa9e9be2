"""One transmitter: configure, arm, publish credit, read counters."""
