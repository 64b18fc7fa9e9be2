"""Packets in buffers and captures, for compiled code."""
