"""What crosses clocks (`hw/rtl/clocks`)."""
