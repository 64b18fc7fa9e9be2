"""Golden models of `hw/rtl/time`: the clock that PTP disciplines, and what it stamps."""
