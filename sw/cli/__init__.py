"""The command `framelane`."""
