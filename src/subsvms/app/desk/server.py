"""The local page: requests in, plain values of the desk out.

It is served to this machine only, under an address that nobody can guess, and `guard` lets only requests of
the page itself through. Every decision and every answer is on disk before it is acknowledged; decisions that
arrive while others are being written are written together afterwards: one wait for the disk serves all of
them. Nothing leaves this machine's memory before an answer in an audit that would give away what the run
thinks of a row: the questions do not hold it.
"""

import asyncio
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from subsvms.app.desk.filters import Filter
from subsvms.app.desk.guard import TEMPLATES, Guard, Refusal, answer, parse_int, read_body
from subsvms.app.desk.review import PAGE_ROWS, ReviewDesk, format_count
from subsvms.app.runs.acts import Act, Conflict, NotAsked, NothingToUndo, check_name, check_note
from subsvms.app.runs.decision_file import BrokenFile
from subsvms.exceptions import InputError, TableError

if TYPE_CHECKING:  # it imports packages that take seconds, which a review does not need
    from subsvms.app.desk.audit import QuestionDesk

HOST = "127.0.0.1"
N_PORTS = 100  # to try
REFRESH_SECONDS = 0.5  # between looks for what other processes decided


def serve(
    desk: "ReviewDesk | QuestionDesk",
    *,
    port: int,
    ready: Callable[[str], None],
    started: Callable[[Any], None] | None = None,
) -> None:
    """Serve the page of a desk until Ctrl-C, and tell its address when it can be opened."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            ready(f"http://{HOST}:{port}/{token}/")

    listener = open_socket(port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    app = make_app(desk, token, {f"{HOST}:{port}", f"localhost:{port}"})
    server = Server(
        uvicorn.Config(app, log_level="critical", access_log=False, server_header=False, lifespan="off")
    )
    if started is not None:
        started(server)
    # uvicorn finishes the open requests, and raises the signal it caught
    with listener, suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


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
    last = first + N_PORTS - 1
    raise TableError(
        "No port from {first} to {last} is free: choose another with {port}.", first=first, last=last
    )


def make_app(desk: "ReviewDesk | QuestionDesk", token: str, hosts: set[str]) -> ASGIApp:
    """Return the application that serves a desk."""
    pages: Pages = ReviewPages(desk, token) if isinstance(desk, ReviewDesk) else AuditPages(desk, token)
    routes = [
        Route("/", pages.show_page),
        Route("/api/meta", pages.show_meta),
        *(Route(f"/api/{path}", work) for path, work in pages.shows.items()),
        *(Route(f"/api/{path}", work, methods=["POST"]) for path, work in pages.does.items()),
        Mount("/static", StaticFiles(packages=[("subsvms.app.desk", "static")])),
    ]
    handlers: Any = dict.fromkeys((Refusal, InputError), explain)
    inner = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers=handlers)
    return Guard(inner, token, hosts, desk.room)


async def explain(request: Request, error: Refusal | InputError) -> Response:
    """Answer a request that is refused, because of what it asks or because a file cannot be used."""
    if isinstance(error, InputError):
        error = Refusal(503 if isinstance(error, BrokenFile) else 400, str(error))
    return answer(error, request)


class Pages:
    """The answers to requests, one method each; `shows` and `does` have their paths, the latter for POST."""

    shows: dict[str, Any]
    does: dict[str, Any]

    def __init__(self, desk: Any, token: str):
        self.desk, self.token = desk, token
        self.turn = asyncio.Lock()  # requests wait here and not in threads, of which there are few

    async def _work(self, work, *values):
        async with self.turn:
            return await asyncio.to_thread(work, *values)

    async def show_page(self, request: Request) -> Response:
        """Return the page itself."""
        words = await self._work(lambda: self.desk.page_words)
        template = TEMPLATES.get_template(f"{self.desk.room}.html")
        return HTMLResponse(template.render(title=self.desk.title, base=f"/{self.token}/", **words))

    async def show_meta(self, request: Request) -> Response:
        """Return what stays the same while the page is open: classes, columns, the summary in words."""
        return JSONResponse(await asyncio.to_thread(lambda: self.desk.meta))


class Writer:
    """Writes decisions of many requests together."""

    def __init__(self, desk: ReviewDesk):
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


class ReviewPages(Pages):
    """The review: people decide about issues in any order, and may undo."""

    desk: ReviewDesk

    def __init__(self, desk: ReviewDesk, token: str):
        super().__init__(desk, token)
        self.writer, self.looked = Writer(desk), 0.0
        self.shows = {
            "issues": self.list_issues, "issues/{row:int}": self.describe_issue, "values": self.list_values,
            "state": self.show_state,
        }  # fmt: skip
        self.does = {
            "decide": self.decide, "decide-all": self.decide_all, "undo": self.undo, "redo": self.redo,
        }  # fmt: skip

    async def list_issues(self, request: Request) -> Response:
        """Return a page of the issues that match a filter."""
        words = dict(request.query_params)
        offset, limit = parse_int(words.pop("offset", "0"), 0), parse_int(words.pop("limit", "50"), 1)
        last = self.desk.decisions.last  # before the search: whoever has this list has seen these acts
        wanted, most = parse_filter(words), min(limit, PAGE_ROWS)
        total, issues = await asyncio.to_thread(self.desk.list_issues, wanted, offset, most)
        return JSONResponse({"total": total, "offset": offset, "last": last, "issues": issues})

    async def describe_issue(self, request: Request) -> Response:
        """Return all that is known about one issue."""
        row = request.path_params["row"]
        if row not in self.desk.place:
            raise Refusal(404, f"Row {row} is not an issue.")
        return JSONResponse(await asyncio.to_thread(self.desk.describe, row))

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
        note = check_note(body.get("note"))
        decided = self.desk.settle(row, str(body.get("verdict")), body.get("label"), note)
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
        verdict, label, note = str(body.get("verdict")), body.get("label"), check_note(body.get("note"))
        if verdict == "keep" and (self.desk.given[found] >= 0).any():
            found = found[self.desk.given[found] >= 0]  # nothing can be kept where no label was given
        decided = [self.desk.settle(row, verdict, label, note) for row in self.desk.rows[found].tolist()]
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
        latest = [self.desk.decisions.latest(line.row) for line in decided]
        n_rows = sum(one is not None and one.who == who for one in latest)
        return JSONResponse({"act": act, "rows": n_rows, **self.desk.count()})

    async def undo(self, request: Request) -> Response:
        """Take back what this person did last."""
        return await self._revert(request, self.desk.undo, "You have nothing left to undo.")

    async def redo(self, request: Request) -> Response:
        """Decide again what this person undid last."""
        return await self._revert(request, self.desk.redo, "You have nothing to redo.")

    async def _revert(self, request, work, nothing):
        who = check_name((await read_body(request)).get("who"))
        try:
            found = await asyncio.to_thread(work, who)
        except NothingToUndo:
            raise Refusal(409, nothing) from None
        except Conflict as conflict:
            name = conflict.theirs[0].who
            raise Refusal(409, f"{name} decided differently since, so nothing was redone.") from None
        return JSONResponse({"rows": [decision.row for decision in found], **self.desk.count()})


class AuditPages(Pages):
    """An audit or an estimate: people answer questions as they are drawn, and an answer stands."""

    desk: "QuestionDesk"

    def __init__(self, desk: "QuestionDesk", token: str):
        super().__init__(desk, token)
        self.shows = {"progress": self.show_progress}
        self.does = {"question": self.ask, "answer": self.take, "leave": self.leave}  # asking reserves it

    async def show_progress(self, request: Request) -> Response:
        """Return where the audit stands, for those who do not answer."""
        return JSONResponse({"progress": await self._work(self.desk.progress)})

    async def ask(self, request: Request) -> Response:
        """Return the question for a person, which is theirs for a while, and where the audit stands."""
        who = check_name((await read_body(request)).get("who"))
        return JSONResponse(await self._work(self._describe, who))

    async def take(self, request: Request) -> Response:
        """Store an answer; return what may be told about it, and the next question."""
        body = await read_body(request)
        who = check_name(body.get("who"))
        if "label" not in body:
            raise Refusal(400, "An answer must name a label, or null for “cannot tell”.")
        try:
            told = await self._work(self.desk.answer, who, body.get("row"), body["label"], body.get("id"))
        except NotAsked as error:
            raise Refusal(409, str(error), **await self._work(self._describe, who)) from None
        return JSONResponse({"told": told, **await self._work(self._describe, who)})

    async def leave(self, request: Request) -> Response:
        """Let others have the question of a person who closes the page."""
        await self._work(self.desk.leave, check_name((await read_body(request)).get("who")))
        return JSONResponse({})

    def _describe(self, who: str) -> dict[str, Any]:
        question = self.desk.question(who)
        if question is not None:
            del question["classes"]  # the page has them already
        return {"question": question, "progress": self.desk.progress()}


def read_seen(body: dict[str, Any]) -> int | None:
    """Return the last act that a person had seen; None if the request does not say."""
    seen = body.get("seen")
    if seen is not None and (isinstance(seen, bool) or not isinstance(seen, int)):
        raise Refusal(400, "The act that was seen must be a whole number.")
    return seen


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
