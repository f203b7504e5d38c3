"""The desk at which people look at a run: they review its issues, or answer the questions of an audit.

- `opened`: the folder, opened; `rows`: rows of its table; `questions`: what people are asked, in order;
- `review`: issues that people decide about in any order; `evidence`: what they see;
- `audit`: a desk whose questions are drawn, and whose answers stand;
- `exchange`: issues, decisions, questions and answers in files of other tools (`tool_files`);
- `apply`: the labels that follow from all that people did, and the table with them;
- `server` and `guard`: the page, alone or beside a program that goes on.
"""
