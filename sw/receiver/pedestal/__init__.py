"""The pedestal as it drifts: tracked from dark frames, its record, and how the correction gets it."""
