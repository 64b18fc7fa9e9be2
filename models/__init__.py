"""Golden models of the gateware: pure functions on ints, bytes and arrays."""
