"""Compare corrections of labels with what people would use instead, on the same data.

From the root of the repository, with cleanlab installed (`.[test]`):

    python -m benchmarks.peers.downstream                               # ordinary tables and real noise
    python -m benchmarks.peers.downstream --report                      # peers.md, losses first

`methods.py` has the methods, `scores.py` more rankings. `downstream.py` trains models on what each leaves
(fix, drop, weight, answers, audit); `page.py` puts its lines and those of benchmarks/ordinary.py and audit.py
on one page. `child.py` gives a method a process of its own, for benchmarks/speed_rows.py.
"""
