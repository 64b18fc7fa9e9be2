"""Checks of the host that receives: each reads /proc and /sys below a root, and says what is wrong and what to do."""
