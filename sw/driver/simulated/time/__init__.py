"""A board's clock and its stamps by Verilator."""
