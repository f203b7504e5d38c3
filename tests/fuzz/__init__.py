"""Thousands of files and options, most of them wrong, each given to the command line in a process of its own.

    PYTHONPATH=tests python -m fuzz.run --cases 20000 --seed 0 --processes 2

A case is determined by the seed and its number alone. `files` writes valid tables, `mutations` damages them,
`options` draws a command, `cases` puts the three together, `server` runs the command in a forked process with
limits, and `judge` says what is wrong with the way it ended. `kills` stops real processes at random moments.
"""
