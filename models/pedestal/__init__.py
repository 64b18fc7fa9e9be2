"""The tracking of the G0 pedestal."""
