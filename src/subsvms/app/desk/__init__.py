"""The desk at which people look at a run: they review its issues, or answer the questions of an audit.

- `opened`: the folder, opened; `rows`: rows of its table; `questions`: what people are asked, in order;
- `review`: issues that people decide about in any order; `evidence`: what they see;
- `audit`: a desk with such questions, which are drawn and whose answers stand;
- `apply`: what follows from all that was answered, and the table with these labels;
- `exchange`: both in files of other tools (`tool_files`);
- `server` and `guard`: the page, alone or beside a program that goes on.
"""
