"""Serve a page to this machine only, under an address that nobody can guess."""

import secrets
import socket
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp

from subsvms.exceptions import TableError

HOST = "127.0.0.1"
N_PORTS = 100  # to try


def serve_locally(
    make_app: Callable[[str, set[str]], ASGIApp],
    *,
    port: int,
    ready: Callable[[str], None],
    started: Callable[[Any], None] | None = None,
) -> None:
    """Serve an application until Ctrl-C."""
    import uvicorn

    listener = open_socket(port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    app = make_app(token, {f"{HOST}:{port}", f"localhost:{port}"})
    config = uvicorn.Config(app, log_level="critical", access_log=False, server_header=False, lifespan="off")

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            ready(f"http://{HOST}:{port}/{token}/")

    server = Server(config)
    if started is not None:
        started(server)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # uvicorn has finished the open requests, and raises the signal it caught
    finally:
        listener.close()


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
