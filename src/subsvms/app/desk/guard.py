"""Who may talk to a page on this machine, and how a request is refused.

Only requests from this machine with the token in their address are answered. A foreign page that guesses the
port cannot read answers (no CORS), cannot post (the origin is checked), cannot use another host name (the
host is checked), and cannot put this page into a frame.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

REQUEST_BYTES = 64 * 1024  # at most
TEMPLATES = Environment(loader=PackageLoader("subsvms.app.desk"), autoescape=True)
STYLE = (  # of a refusal, which cannot load the style of the page: that needs the token
    "body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto; padding: 0 1rem }"
    "h1 { font-size: 1.4rem }"
)
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' "
        f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
STRANGER = (
    "This address is incomplete, or a newer one has replaced it: open the whole address that subsvms {room} "
    "printed last."
)


def make_token(path: Path, *parts: str, renew: bool = False) -> str:
    """Return the token of a page, the same whenever it is opened: made from its parts and a secret file.

    A file that others can read or write, or whose owner is another, is no secret: a new one takes its place.
    Where none can be kept, the token is new each time.
    """
    secret = secrets.token_bytes(32)
    try:
        with suppress(FileNotFoundError):
            if renew or not is_secret(path):
                path.unlink()
        own = partial(os.open, mode=0o600)
        with suppress(FileExistsError), open(path, "xb", opener=own) as file:
            file.write(secret)
        secret = path.read_bytes() if is_secret(path) else secret
    except OSError:
        pass  # the folder cannot be written to
    found = hmac.digest(secret, json.dumps(parts).encode(), "sha256")
    return base64.urlsafe_b64encode(found[:24]).decode()


def is_secret(path: Path) -> bool:
    """Return whether only its owner can read a file, and that is us; Windows says so in other ways."""
    found = path.lstat()
    plain = stat.S_ISREG(found.st_mode) and found.st_size == 32 and found.st_nlink == 1
    return plain and (os.name == "nt" or (not found.st_mode & 0o077 and found.st_uid == os.getuid()))


def make_headers(kinds: Iterable[str], hosts: Iterable[str]) -> dict[str, str]:
    """Return the headers of all answers: `HEADERS`, opened for sounds and for hosts on the web if wanted."""
    policy, others = HEADERS["content-security-policy"], "".join(f" {host}" for host in hosts)
    policy = policy.replace("img-src 'self' data:", f"img-src 'self' data:{others}")
    policy += f"; media-src 'self'{others}" if "audio" in kinds else ""
    return HEADERS | {"content-security-policy": policy}


class Refusal(Exception):
    """A request that is refused: a status, a sentence, and perhaps more for the page."""

    def __init__(self, status: int, why: str, **more: Any):
        super().__init__(why)
        self.status, self.more = status, more


class Guard:
    """Lets only requests through that are made to this machine, from its own page, with the token."""

    def __init__(self, app: ASGIApp, token: str, hosts: set[str], room: str, headers: dict[str, str]):
        self.app, self.room = app, room  # what the page is called
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self.token = token  # first part of the path of every request that is answered
        self.hosts = hosts  # names and ports under which it answers, such as "127.0.0.1:80"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with strict headers in any case."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_strictly(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self.headers]}
            await send(message)

        refusal = self.check(scope)
        app = self.app if refusal is None else answer(refusal, Request(scope))
        return await app(scope, receive, send_strictly)

    def check(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused; None if it is not."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if headers.get("host") not in self.hosts:
            return Refusal(421, "This page is only served under its own address.")
        if not hmac.compare_digest(first.encode(), self.token.encode()):
            return Refusal(403, STRANGER.format(room=self.room))
        origin = headers.get("origin")
        foreign = origin is not None and origin not in {f"http://{host}" for host in self.hosts}
        site = headers.get("sec-fetch-site", "same-origin")
        if scope["method"] not in ("GET", "HEAD") and (foreign or site != "same-origin"):
            return Refusal(403, f"Requests that store something must come from the {self.room} page itself.")
        if foreign:
            return Refusal(403, "Requests from other pages are not answered.")
        return None


def answer(refusal: Refusal, request: Request) -> Response:
    """Return a refusal as a response: a page for a person, JSON for a program."""
    if "text/html" in request.headers.get("accept", ""):
        page = TEMPLATES.get_template("refusal.html").render(sentence=str(refusal), style=STYLE)
        return HTMLResponse(page, status_code=refusal.status)
    return JSONResponse({"error": str(refusal), **refusal.more}, status_code=refusal.status)


async def read_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request, if it is one and not too large."""
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise Refusal(415, "The request must be JSON.")
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > REQUEST_BYTES:
            raise Refusal(413, "The request is too large.")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise Refusal(400, "The request is not valid JSON.") from None
    if not isinstance(body, dict):
        raise Refusal(400, "The request must be a JSON object.")
    return body
