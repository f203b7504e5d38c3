"""The review page: people look at suspicious labels and decide."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from subsvms._pages import FIRST_PORT
from subsvms.app.review.desk import Desk


def serve(
    folder: str | Path,
    *,
    port: int = FIRST_PORT,
    ready: Callable[[str, Desk], None],
    started: Callable[[Any], None] | None = None,
) -> None:
    """Serve the review page of a run's folder until Ctrl-C."""
    from subsvms.app.review.local import serve_locally
    from subsvms.app.review.server import make_app

    desk = Desk(folder)
    try:
        serve_locally(
            lambda token, hosts: make_app(desk, token, hosts),
            port=port,
            ready=lambda address: ready(address, desk),
            started=started,
        )
    finally:
        desk.decisions.close()
