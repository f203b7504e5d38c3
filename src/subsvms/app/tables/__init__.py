"""Read and write tables: text, workbooks, typed files, statistics files and databases."""
