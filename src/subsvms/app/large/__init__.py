"""Tables of more rows than memory, read in parts, on threads or on a Dask cluster."""
