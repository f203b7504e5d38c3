"""The audit of a run's folder: people answer questions about some labels, and others change with a guarantee.

- `store`: audit.json, the whole memory of an audit;
- `turns`: answers of several people, each entered when it is its turn;
- `desk`: questions and answers as plain values; `estimate_desk`: those about random rows;
- `server`: the page that asks them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from subsvms._pages import FIRST_PORT
from subsvms.app.audit.desk import AuditDesk, QuestionDesk
from subsvms.app.audit.estimate_desk import EstimateDesk


def serve(
    folder: str | Path,
    *,
    port: int = FIRST_PORT,
    ready: Callable[[str, QuestionDesk], None],
    estimate: bool = False,
    **options: Any,
) -> None:
    """Serve the audit page of a run's folder until Ctrl-C."""
    from subsvms.app.audit.server import make_app
    from subsvms.app.review.local import serve_locally

    desk = EstimateDesk(folder, **options) if estimate else AuditDesk(folder, **options)
    serve_locally(
        lambda token, hosts: make_app(desk, token, hosts),
        port=port,
        ready=lambda address: ready(address, desk),
    )
