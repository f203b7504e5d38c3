"""The audit of a run's folder: people answer questions about some labels, and others change with a guarantee.

- `store`: audit.json, the whole memory of an audit;
- `turns`: answers of several people, each entered when it is its turn;
- `desk`: questions and answers as plain values.
"""
