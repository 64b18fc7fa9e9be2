"""`python -m framelane`: the command line."""

from framelane.cli import main

main()
