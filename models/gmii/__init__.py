"""Ethernet frames on GMII (`hw/rtl/gmii`)."""
