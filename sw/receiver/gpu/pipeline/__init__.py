"""The streaming pipeline on a GPU: lanes, their queue, tracking."""
