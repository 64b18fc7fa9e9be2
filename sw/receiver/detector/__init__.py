"""A detector's own UDP packets, by their description, live into the slots of the ring."""
