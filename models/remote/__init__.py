"""What a board without a host of its own is driven by (`hw/rtl/remote`)."""
