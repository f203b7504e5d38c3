"""Thousands of files and options, most of them wrong, each given to the command line in a process of its own.

    PYTHONPATH=tests python -m fuzz.run --cases 20000 --seed 0 --processes 2

A case is determined by the seed and its number alone. `files` writes valid tables, `mutations` damages them,
`options` draws a command, `cases` puts the three together, `processes` runs the command in a forked process
with limits, `judge` says what is wrong with the way it ended. `kills` stops real processes at random moments.
"""

import os
import sys
from pathlib import Path

# Before anything is imported: a process that is to be forked must have no threads.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # the others hide small overruns
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # it is started even where it is not used

# Processes that are started afresh, in other folders, import what this one does.
PATHS = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")]
sys.path[:0] = [path for path in PATHS if path not in sys.path]
os.environ["PYTHONPATH"] = os.pathsep.join(PATHS)
