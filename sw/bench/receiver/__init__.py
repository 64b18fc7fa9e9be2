"""Benchmarks of the receiver: soft NIC, correction, pipeline, pedestal tracking."""
