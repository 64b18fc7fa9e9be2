"""Benchmarks: measured tables, and what was promised beside what was reached."""
