"""Compare corrections of labels with what people would use instead, on the same data.

From the root of the repository, with cleanlab and imbalanced-learn installed (`.[test]`; methods whose
library is missing are left out):

    python -m benchmarks.peers run --preset quick --data-dir FOLDER     # under ten minutes on two cores
    python -m benchmarks.peers report --preset quick

FOLDER holds the LIBSVM files of the paper, including the .t files (default: SUBSVMS_DATA); without it, only
the other data are used. `run` appends one line per data set, attack, budget and method to
results/peers_PRESET.csv as soon as it is known, and repeats none: a run that was killed continues where it
was. `report` writes RESULTS.md and its pictures from these lines. Presets, in `cells.py`: smoke (a minute),
quick, repeated (the same with three seeds), standard (hours), full (a day: every data set under every attack
and budget). `variants.py` runs such cells with other settings of SubSVMs.

    python -m benchmarks.peers.downstream                               # ordinary tables and real noise
    python -m benchmarks.peers.downstream --report                      # docs/peers.md, losses first

`downstream.py` trains models on what each method leaves (fix, drop, weight, answers, audit), with more
rankings (`scores.py`); `page.py` puts its lines and those of benchmarks/ordinary.py and audit.py on one page.

    data -> cells -> methods -> measures     run.py; child.py gives each method a process of its own
    lines -> tables, losses, plots           report.py puts them on one page
"""
