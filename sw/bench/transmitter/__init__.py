"""Benchmarks of the transmitter: cycles and rates of the Verilated gateware."""
