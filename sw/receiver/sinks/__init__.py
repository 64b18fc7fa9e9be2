"""Where frames go: HDF5 files, masters over several, the record of verdicts."""
