"""From the columns of a table to numbers."""
