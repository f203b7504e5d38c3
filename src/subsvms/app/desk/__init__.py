"""The desk at which people look at a run: they review its issues, or answer the questions of an audit.

- `desk`: the folder, opened; `rows`: rows of its table;
- `review`: issues that people decide about in any order; `evidence`, `filters`, `progress`: what they see;
- `audit`: questions that are drawn, whose answers stand; `turns`: the order in which answers count;
- `exchange`: both in files of other tools; `apply`: the table with the labels that follow;
- `server` and `guard`: the page.
"""
