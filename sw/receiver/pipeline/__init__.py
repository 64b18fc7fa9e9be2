"""The CPU pipeline: correction, counts, verdict, sparse rows."""
