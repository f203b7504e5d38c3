"""The paper's evaluation: data, methods, judge and runs; see `python -m experiments --help`."""
