"""The review page: people look at suspicious labels and decide."""

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from subsvms.app.review.desk import Desk
from subsvms.exceptions import TableError

HOST = "127.0.0.1"
FIRST_PORT, N_PORTS = 8765, 100


def serve(folder: str | Path, *, port: int = FIRST_PORT, ready: Callable[[str, Desk], None]) -> None:
    """Serve the review page of a run's folder until Ctrl-C.

    Parameters
    ----------
    folder : path-like
        Made by `subsvms correct`.
    port : int
        The first to try; ports in use are skipped.
    ready : callable
        Called as ready(address, desk) when the server is about to answer.
    """
    import uvicorn

    from subsvms.app.review.server import make_app

    desk = Desk(folder)
    listener = open_socket(port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    app = make_app(desk, token, {f"{HOST}:{port}", f"localhost:{port}"})
    config = uvicorn.Config(app, log_level="critical", access_log=False, server_header=False, lifespan="off")
    server = uvicorn.Server(config)
    try:
        ready(f"http://{HOST}:{port}/{token}/", desk)
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # uvicorn has finished the open requests, and raises the signal it caught
    finally:
        listener.close()
        desk.decisions.close()


def open_socket(first: int) -> socket.socket:
    """Return a socket on the first free port, which only this machine can reach."""
    for port in range(first, first + N_PORTS):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen(128)  # until then another socket could be bound to the same port
        except (OSError, OverflowError):
            listener.close()
            continue
        return listener
    raise TableError(f"No port from {first} to {first + N_PORTS - 1} is free: choose another with --port.")
