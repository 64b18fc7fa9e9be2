"""What holds for all tests and testbenches; each is a module of its own."""

pytest_plugins = ("fresh_signals", "in_turn", "left_out", "longest_first", "one_compiles", "recorded_benches", "skips")
