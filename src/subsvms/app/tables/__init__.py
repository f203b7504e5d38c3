"""Read and write tables: CSV, JSON Lines, Parquet, Feather and LIBSVM text."""
