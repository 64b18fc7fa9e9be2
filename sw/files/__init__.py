"""HDF5 files: read with one sentence for what is wrong, written whole or not at all."""
