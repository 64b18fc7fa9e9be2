"""What is between the core and a MAC (`hw/rtl/mac`)."""
