"""Images to other programs while a run lasts, by ZeroMQ: DECTRIS' stream2 (docs/serve/streams.md)."""
