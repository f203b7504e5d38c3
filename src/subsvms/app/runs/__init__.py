"""One run over a table: what was asked, what was found, and the folder it is written to."""
