"""The local page: requests in, plain values of the desk out.

Only requests from this machine with the token in their address are answered. A foreign page that guesses the
port cannot read answers (no CORS), cannot post (the origin is checked), cannot use another host name (the
host is checked), and cannot put this page into a frame. Decisions that arrive while others are being written
to disk are written together afterwards: one wait for the disk serves all of them.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from subsvms.app.review.desk import PAGE_ROWS, Desk, Filter, format_count
from subsvms.app.runs.decision_file import BrokenFile
from subsvms.app.runs.decisions import Act, Conflict, NothingToUndo, check_name
from subsvms.exceptions import TableError

REQUEST_BYTES = 64 * 1024  # at most
REFRESH_SECONDS = 0.5  # between looks for what other processes decided
TEMPLATES = Environment(loader=PackageLoader("subsvms.app.review"), autoescape=True)
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
    "This address is incomplete, or it was printed by a review that has ended: open the whole address that "
    "subsvms review printed last."
)


class Refusal(Exception):
    """A request that is refused: a status, a sentence, and perhaps more for the page."""

    def __init__(self, status: int, why: str, **more: Any):
        super().__init__(why)
        self.status, self.more = status, more


class Guard:
    """Lets only requests through that are made to this machine, from its own page, with the token."""

    def __init__(self, app: ASGIApp, token: str, hosts: set[str]):
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with strict headers in any case."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_strictly(message):
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        refusal = self.check(scope)
        if refusal is not None:
            return await answer(refusal, Request(scope))(scope, receive, send_strictly)
        return await self.app(scope, receive, send_strictly)

    def check(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused; None if it is not."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if headers.get("host") not in self.hosts:
            return Refusal(421, "This page is only served under its own address.")
        if not hmac.compare_digest(first.encode(), self.token.encode()):
            return Refusal(403, STRANGER)
        origin = headers.get("origin")
        foreign = origin is not None and origin not in {f"http://{host}" for host in self.hosts}
        site = headers.get("sec-fetch-site", "same-origin")
        if scope["method"] not in ("GET", "HEAD") and (foreign or site != "same-origin"):
            return Refusal(403, "Decisions are only accepted from the review page itself.")
        if foreign:
            return Refusal(403, "Requests from other pages are not answered.")
        return None


def answer(refusal: Refusal, request: Request) -> Response:
    """Return a refusal as a response: a page for a person, JSON for a program."""
    if "text/html" in request.headers.get("accept", ""):
        page = TEMPLATES.get_template("refusal.html").render(sentence=str(refusal), style=STYLE)
        return HTMLResponse(page, status_code=refusal.status)
    return JSONResponse({"error": str(refusal), **refusal.more}, status_code=refusal.status)


class Writer:
    """Writes decisions of many requests together."""

    def __init__(self, desk: Desk):
        self.desk = desk
        self.waiting: list[tuple[Act, asyncio.Future]] = []
        self.task: asyncio.Task | None = None

    async def decide(self, act: Act) -> int:
        """Store decisions and return the number of their act when it is on disk."""
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((act, future))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.work())
        return await future

    async def work(self) -> None:
        """Write what is waiting, until nothing is."""
        answers: Sequence[int | Exception]
        while self.waiting:
            batch, self.waiting = self.waiting, []
            try:
                answers = await asyncio.to_thread(self.desk.decide_many, [act for act, _ in batch])
            except Exception as error:
                answers = [error] * len(batch)
            for (_, future), found in zip(batch, answers, strict=True):
                if future.done():
                    continue
                if isinstance(found, Exception):
                    future.set_exception(found)
                else:
                    future.set_result(found)


def make_app(desk: Desk, token: str, hosts: set[str]) -> ASGIApp:
    """Return the application that serves a desk.

    Parameters
    ----------
    desk : Desk
    token : str
        First part of the path of every request that is answered.
    hosts : set of str
        Host names and ports under which it answers, such as "127.0.0.1:8765".
    """
    pages = Pages(desk, token)
    routes = [
        Route("/", pages.show_page),
        Route("/api/meta", pages.show_meta),
        Route("/api/issues", pages.list_issues),
        Route("/api/issues/{row:int}", pages.describe_issue),
        Route("/api/values", pages.list_values),
        Route("/api/state", pages.show_state),
        Route("/api/decide", pages.decide, methods=["POST"]),
        Route("/api/decide-all", pages.decide_all, methods=["POST"]),
        Route("/api/undo", pages.undo, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("subsvms.app.review", "static")])),
    ]
    handlers: Any = {Refusal: answer_refusal, TableError: answer_mistake, BrokenFile: answer_damage}
    inner = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers=handlers)
    return Guard(inner, token, hosts)


async def answer_refusal(request: Request, error: Refusal) -> Response:
    """Answer a request that is refused."""
    return answer(error, request)


async def answer_mistake(request: Request, error: TableError) -> Response:
    """Answer a request with a value that cannot be used."""
    return answer(Refusal(400, str(error)), request)


async def answer_damage(request: Request, error: BrokenFile) -> Response:
    """Answer a request when the file of decisions cannot be used."""
    return answer(Refusal(503, str(error)), request)


class Pages:
    """The answers, one method each."""

    def __init__(self, desk: Desk, token: str):
        self.desk, self.token, self.writer = desk, token, Writer(desk)
        self.looked = 0.0
        self.template = TEMPLATES.get_template("page.html")

    async def show_page(self, request: Request) -> Response:
        """Return the page itself."""
        return HTMLResponse(self.template.render(title=self.desk.title, base=f"/{self.token}/"))

    async def show_meta(self, request: Request) -> Response:
        """Return what does not change: classes, columns, the summary in words."""
        return JSONResponse(self.desk.meta)

    async def list_issues(self, request: Request) -> Response:
        """Return a page of the issues that match a filter."""
        words = dict(request.query_params)
        offset, limit = parse_int(words.pop("offset", "0"), 0), parse_int(words.pop("limit", "50"), 1)
        last = self.desk.decisions.last  # before the search: whoever has this list has seen these acts
        found = await asyncio.to_thread(self.desk.find, parse_filter(words))
        shown = found[offset : offset + min(limit, PAGE_ROWS)].tolist()
        issues = [self.desk.brief(number) for number in shown]
        return JSONResponse({"total": len(found), "offset": offset, "last": last, "issues": issues})

    async def describe_issue(self, request: Request) -> Response:
        """Return all that is known about one issue."""
        row = request.path_params["row"]
        if row not in self.desk.place:
            raise Refusal(404, f"Row {row} is not an issue.")
        return JSONResponse(self.desk.describe(row))

    async def list_values(self, request: Request) -> Response:
        """Return the most common values of a column in the issues."""
        column = request.query_params.get("column", "")
        return JSONResponse(await asyncio.to_thread(self.desk.common_values, column))

    async def show_state(self, request: Request) -> Response:
        """Return the progress of the review, and the rows that were decided since an act."""
        if time.monotonic() - self.looked > REFRESH_SECONDS:
            self.looked = time.monotonic()
            await asyncio.to_thread(self.desk.refresh)
        since = parse_int(request.query_params.get("since", "0"), 0)
        return JSONResponse(self.desk.state(since))

    async def decide(self, request: Request) -> Response:
        """Store a decision about one row, unless others decided differently since the act that was seen."""
        body = await read_body(request)
        row, who, seen = body.get("row"), check_name(body.get("who")), read_seen(body)
        if isinstance(row, bool) or not isinstance(row, int) or row not in self.desk.place:
            raise Refusal(404, "This row is not an issue.")
        decided = self.desk.settle(row, str(body.get("verdict")), body.get("label"))
        try:
            act = await self.writer.decide(Act([decided], who, seen))
        except Conflict as conflict:
            name, place = conflict.theirs[0].who, self.desk.place[row]
            why = f"{name} decided differently in the meantime: choose which decision to keep."
            raise Refusal(409, why, issue=self.desk.brief(place)) from None
        return JSONResponse({"act": act, "issue": self.desk.brief(self.desk.place[row]), **self.desk.count()})

    async def decide_all(self, request: Request) -> Response:
        """Store a decision about all rows that match a filter, if they are as many as the page showed."""
        body = await read_body(request)
        who, wanted, seen = check_name(body.get("who")), body.get("filter"), read_seen(body)
        if not isinstance(wanted, dict) or not all(isinstance(value, str) for value in wanted.values()):
            raise Refusal(400, "A filter must be given.")
        found = await asyncio.to_thread(self.desk.find, parse_filter(dict(wanted)))
        if len(found) != body.get("expect"):
            rows = format_count(len(found), "row")
            raise Refusal(409, f"The filter finds {rows} now: look again and confirm.")
        if len(found) == 0:
            raise Refusal(409, "There is no row left to decide.")
        verdict, label = str(body.get("verdict")), body.get("label")
        if verdict == "keep" and (self.desk.given[found] >= 0).any():
            found = found[self.desk.given[found] >= 0]  # nothing can be kept where no label was given
        decided = [self.desk.settle(row, verdict, label) for row in self.desk.rows[found].tolist()]
        try:
            keep_theirs = body.get("keep_theirs") is True
            act = await self.writer.decide(Act(decided, who, seen, keep_theirs))
        except Conflict as conflict:
            theirs = conflict.theirs
            rows = format_count(len(theirs), "row")
            why = f"Others decided {rows} differently in the meantime: choose which decisions to keep."
            names = sorted({one.who for one in theirs})
            last = max(one.act for one in theirs)
            raise Refusal(409, why, differing=len(theirs), names=names, last=last) from None
        latest = [self.desk.decisions.latest(row) for row, _, _ in decided]
        n_rows = sum(one is not None and one.who == who for one in latest)
        return JSONResponse({"act": act, "rows": n_rows, **self.desk.count()})

    async def undo(self, request: Request) -> Response:
        """Take back what this person did last."""
        who = check_name((await read_body(request)).get("who"))
        try:
            taken = await asyncio.to_thread(self.desk.undo, who)
        except NothingToUndo:
            raise Refusal(409, "You have nothing left to undo.") from None
        return JSONResponse({"rows": [decision.row for decision in taken], **self.desk.count()})


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


def read_seen(body: dict[str, Any]) -> int | None:
    """Return the last act that a person had seen; None if the request does not say."""
    seen = body.get("seen")
    if seen is not None and (isinstance(seen, bool) or not isinstance(seen, int)):
        raise Refusal(400, "The act that was seen must be a whole number.")
    return seen


def parse_int(text: str, least: int) -> int:
    """Return a whole number from a query."""
    if not text.isdecimal() or len(text) > 12 or int(text) < least:
        raise Refusal(400, f"A whole number of at least {least} was expected; got {text[:20]!r}.")
    return int(text)


def parse_filter(words: dict[str, str]) -> Filter:
    """Return the filter that a query asks for."""
    unknown = set(words) - set(Filter.__dataclass_fields__)
    if unknown:
        raise Refusal(400, f"There is no filter {min(unknown)[:40]!r}.")
    kept: dict[str, Any] = {name: value for name, value in words.items() if value != ""}
    for name in ("low", "high"):
        if name in kept:
            try:
                kept[name] = float(kept[name])
            except ValueError:
                raise Refusal(400, f"{name} must be a number; got {kept[name][:20]!r}.") from None
    return Filter(**kept)
