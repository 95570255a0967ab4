"""Run the command with `python -m naively`."""

from naively.cli import main

main()
