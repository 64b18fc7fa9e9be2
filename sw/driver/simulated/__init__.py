"""The Verilated transmitter and its blocks, as boards and as libraries."""
