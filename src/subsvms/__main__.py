"""Let `python -m subsvms` be the command line."""

from subsvms.cli import app

app(prog_name="subsvms")
