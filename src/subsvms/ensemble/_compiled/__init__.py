"""The hot loops, compiled with numba when they are first called."""
