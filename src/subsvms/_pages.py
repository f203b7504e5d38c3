"""Where pages for people are served: on this machine alone."""

FIRST_PORT = 8765  # the first to try; ports in use are skipped
