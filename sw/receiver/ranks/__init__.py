"""Several receivers under MPI as one run: what they tell each other, and whose GPU is whose."""
