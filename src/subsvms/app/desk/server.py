"""The local page: requests in, plain values of the desk out.

It is served to this machine only, under an address that nobody can guess, and `guard` lets only requests of
the page itself through. Every decision and every answer is on disk before it is acknowledged; decisions that
arrive while others are being written are written together afterwards: one wait for the disk serves all of
them. Nothing leaves this machine's memory before an answer in an audit that would give away what the run
thinks of a row: the questions do not hold it.
"""

import asyncio
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any
from zlib import crc32

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from subsvms.app.desk.guard import TEMPLATES, Guard, Refusal, answer, make_headers, make_token, read_body
from subsvms.app.desk.media import NotShown, check_hosts
from subsvms.app.desk.review import PAGE_ROWS, Filter, ReviewDesk
from subsvms.app.looks import HOME
from subsvms.app.names import PAGE_SECRET, RECORD
from subsvms.app.runs.answer_store import Act, Conflict, NotAsked, NothingToUndo, check_name, check_note
from subsvms.app.runs.history_file import BrokenFile
from subsvms.app.tables.files import digest_file
from subsvms.exceptions import InputError, TableError, format_count

if TYPE_CHECKING:  # it imports packages that take seconds, which a review does not need
    from subsvms.app.desk.audit import QuestionDesk

HOST = "127.0.0.1"
SANDBOX = "sandbox; default-src 'none'"  # of a picture or sound: opened alone, it can do nothing either
N_PORTS = 100  # to try
FIRST_PORT, OWN_PORTS = 8765, 1000  # among which that of a page is, if none is named: few pages share one
REFRESH_SECONDS = 0.5  # between looks for what other processes decided

Asked = dict[str, Any]  # the body of a request, or its query
Work = Callable[[Asked], Any]  # a plain function may take a while: it runs in a thread


def serve(
    desk: "ReviewDesk | QuestionDesk", *, port: int | None, ready: Callable[[str], None],
    started: Callable[[Any], None] | None = None, hosts: Sequence[str] = (), renew: bool = False,
) -> None:  # fmt: skip
    """Serve the page of a desk until Ctrl-C, and tell its address when it can be opened.

    port: the first one to try; by default one of the page's own, where an open tab finds it after a restart.
    hosts: on the web, from which the page may show pictures and sounds.
    renew: whether the page gets another address than before.
    """
    import uvicorn

    web = check_hosts(hosts)

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            ready(f"http://{HOST}:{port}/{token}/")

    # An open tab goes on only with the same page of the same run: elsewhere its row numbers mean other rows.
    # A table without a run, as for the score of a model, has the secret beside it.
    own, secret = desk.folder / RECORD, desk.folder / PAGE_SECRET
    if not desk.folder.is_dir():
        own, secret = desk.folder, desk.folder.with_name(f"{desk.folder.stem}.{PAGE_SECRET}")
    token = make_token(secret, desk.page, getattr(desk, "part", ""), digest_file(own), renew=renew)
    listener = open_socket(FIRST_PORT + crc32(token.encode()) % OWN_PORTS if port is None else port)
    port = listener.getsockname()[1]
    app = make_app(desk, token, {f"{HOST}:{port}", f"localhost:{port}"}, web)
    how: Any = {"log_level": "critical", "access_log": False, "server_header": False, "lifespan": "off"}
    server = Server(uvicorn.Config(app, **how))
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
            return listener
        except (OSError, OverflowError):
            listener.close()
    words = "No port from {first} to {last} is free: choose another with {port}."
    raise TableError(words, first=first, last=first + N_PORTS - 1)


def make_app(
    desk: "ReviewDesk | QuestionDesk", token: str, hosts: set[str], web: Sequence[str] = ()
) -> ASGIApp:
    """Return the application that serves a desk; `web` are hosts of pictures and sounds."""
    pages: ReviewPages | AuditPages = ReviewPages(desk) if isinstance(desk, ReviewDesk) else AuditPages(desk)

    async def show_page(request: Request) -> Response:
        template = TEMPLATES.get_template(f"{desk.page}.html")
        return HTMLResponse(template.render(title=desk.title, base=f"/{token}/", **desk.page_words))

    def read_media(asked: Asked) -> Response:
        try:
            data, kind = desk.read_media(asked["row"], asked.get("column", ""))
        except NotShown as error:
            raise Refusal(404, str(error)) from None
        return Response(data, media_type=kind, headers={"content-security-policy": SANDBOX})

    works: dict[str, Work] = {
        "GET meta": lambda asked: desk.meta | {"media": desk.media, "hosts": web},
        "GET media/{row:int}": read_media, "POST apply": partial(_write_table, desk.folder), **pages.works,
    }  # fmt: skip
    api = [_make_route(name, work) for name, work in works.items()]
    static = StaticFiles(packages=[("subsvms.app.desk", "static"), HOME])
    routes = [Route("/", show_page), Mount("/api", routes=api), Mount("/static", static)]
    handlers: Any = dict.fromkeys((Refusal, InputError), explain)
    inner = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers=handlers)
    return Guard(inner, token, hosts, desk.room, make_headers(desk.media.values(), web))


def _write_table(folder, asked):
    """Write the final table into the folder of the run, as `subsvms apply` does."""
    from subsvms.app.desk.apply import apply_labels

    how = {"undecided": asked.get("undecided", "keep"), "force": asked.get("force") is True}
    try:
        return {"said": str(apply_labels(folder, **how))}
    except TableError as error:
        raise Refusal(409, str(error), is_there=error.parameter == "force") from None


def _make_route(name: str, work: Work) -> Route:
    method, path = name.split()

    async def respond(request: Request) -> Response:
        asked = await read_body(request) if method == "POST" else dict(request.query_params)
        asked |= request.path_params
        found = await (work(asked) if iscoroutinefunction(work) else asyncio.to_thread(work, asked))
        return found if isinstance(found, Response) else JSONResponse(found)

    return Route(f"/{path}", respond, methods=[method])


async def explain(request: Request, error: Refusal | InputError) -> Response:
    """Answer a request that is refused, because of what it asks or because a file cannot be used."""
    if isinstance(error, InputError):
        error = Refusal(503 if isinstance(error, BrokenFile) else 400, str(error))
    return answer(error, request)


class ReviewPages:
    """The review: people decide about issues in any order, and may undo."""

    def __init__(self, desk: ReviewDesk):
        self.desk, self.looked = desk, 0.0
        self.waiting: list[tuple[Act, asyncio.Future]] = []
        self.task: asyncio.Task | None = None  # which writes what is waiting
        self.works: dict[str, Work] = {
            "GET issues": self._list_issues, "GET state": self._show_state,
            "GET summary": lambda asked: desk.summarise(),
            "GET issues/{row:int}": lambda asked: desk.describe(
                self._check_row(asked["row"]), asked.get("viewer", "")
            ),
            "GET values": lambda asked: desk.common_values(asked.get("column", "")),
            "POST decide": self._decide, "POST decide-all": self._decide_all,
            "POST undo": partial(self._revert, desk.undo, "You have nothing left to undo."),
            "POST redo": partial(self._revert, desk.redo, "You have nothing to redo."),
        }  # fmt: skip

    def _list_issues(self, asked):
        offset, limit = _parse_int(asked.pop("offset", "0"), 0), _parse_int(asked.pop("limit", "50"), 1)
        viewer = asked.pop("viewer", "")  # of whom no proof is asked: a page hides, and keeps no secrets
        last = self.desk.decisions.last  # before the search: whoever has this list has seen these acts
        found = self.desk.find(_parse_filter(asked), viewer)
        shown = found[offset : offset + min(limit, PAGE_ROWS)].tolist()
        issues = self.desk.list_briefly(shown, viewer, asked.get("search", ""))
        return {"total": len(found), "offset": offset, "last": last, "issues": issues}

    def _check_row(self, row):
        if type(row) is not int or row not in self.desk.place:
            raise Refusal(404, "This row is not an issue.")
        return row

    async def _show_state(self, asked):
        if time.monotonic() - self.looked > REFRESH_SECONDS:
            self.looked = time.monotonic()
            await asyncio.to_thread(self.desk.refresh)
        last = self.desk.decisions.last  # before the rows: a later act is told next time
        rows = self.desk.decisions.touched(_parse_int(asked.get("since", "0"), 0), PAGE_ROWS)
        return {"last": last, "rows": rows, **self.desk.progress.describe()}

    async def _decide(self, asked):
        """Store a decision about one row, unless others decided differently since the act that was seen."""
        who, seen, row = check_name(asked.get("who")), _read_seen(asked), self._check_row(asked.get("row"))
        note, place = check_note(asked.get("note")), self.desk.place[row]
        decided = self.desk.settle(row, str(asked.get("verdict")), asked.get("label"), note)
        try:
            act = await self._store(Act([decided], who, seen))
        except Conflict as conflict:
            name = conflict.theirs[0].who
            why = f"{name} decided differently in the meantime: choose which decision to keep."
            raise Refusal(409, why, issue=self.desk.brief(place)) from None
        is_disputed = bool(self.desk.progress.flags["disputed"][place])
        issue = self.desk.brief(place)
        return {"act": act, "issue": issue, "is_disputed": is_disputed, **self.desk.progress.describe()}

    async def _decide_all(self, asked):
        """Store a decision about all rows that match a filter, if they are as many as the page showed."""
        who, wanted, seen = check_name(asked.get("who")), asked.get("filter"), _read_seen(asked)
        if not isinstance(wanted, dict) or not all(isinstance(value, str) for value in wanted.values()):
            raise Refusal(400, "A filter must be given.")
        found = await asyncio.to_thread(self.desk.find, _parse_filter(wanted), who)
        if len(found) != asked.get("expect"):
            rows = format_count(len(found), "row")
            raise Refusal(409, f"The filter finds {rows} now: look again and confirm.")
        if len(found) == 0:
            raise Refusal(409, "There is no row left to decide.")
        verdict, label, note = str(asked.get("verdict")), asked.get("label"), check_note(asked.get("note"))
        if verdict == "keep" and (self.desk.given[found] >= 0).any():
            found = found[self.desk.given[found] >= 0]  # nothing can be kept where no label was given
        decided = [self.desk.settle(row, verdict, label, note) for row in self.desk.rows[found].tolist()]
        try:
            act = await self._store(Act(decided, who, seen, keep_theirs=asked.get("keep_theirs") is True))
        except Conflict as conflict:
            theirs = conflict.theirs
            rows = format_count(len(theirs), "row")
            why = f"Others decided {rows} differently in the meantime: choose which decisions to keep."
            names, last = sorted({one.who for one in theirs}), max(one.act for one in theirs)
            raise Refusal(409, why, differing=len(theirs), names=names, last=last) from None
        latest = [self.desk.decisions.latest(line.row) for line in decided]
        n_rows = sum(one is not None and one.who == who for one in latest)
        return {"act": act, "rows": n_rows, **self.desk.progress.describe()}

    def _revert(self, work, nothing, asked):
        try:
            found = work(check_name(asked.get("who")))
        except NothingToUndo:
            raise Refusal(409, nothing) from None
        except Conflict as conflict:
            name = conflict.theirs[0].who
            raise Refusal(409, f"{name} decided differently since, so nothing was redone.") from None
        rows, note = [decision.row for decision in found], found[0].note  # rows decided together have one
        return {"rows": rows, "note": note, **self.desk.progress.describe()}

    async def _store(self, act: Act) -> int:
        """Store decisions and return the number of their act when it is on disk."""
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((act, future))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._write())
        return await future

    async def _write(self) -> None:
        """Write what is waiting, all of it together, until nothing is."""
        answers: Sequence[int | Exception]
        while self.waiting:
            batch, self.waiting = self.waiting, []
            try:
                answers = await asyncio.to_thread(self.desk.decide_many, [act for act, _ in batch])
            except Exception as error:
                answers = [error] * len(batch)
            for (_, future), found in zip(batch, answers, strict=True):
                if not future.done() and isinstance(found, Exception):
                    future.set_exception(found)
                elif not future.done():
                    future.set_result(found)


class AuditPages:
    """An audit or an estimate: people answer questions as they are drawn, and an answer stands."""

    def __init__(self, desk: "QuestionDesk"):
        self.desk, self.turn = desk, asyncio.Lock()
        works = {
            "GET progress": lambda asked: {"progress": desk.progress()},
            "POST question": lambda asked: self._ask(check_name(asked.get("who"))),  # which reserves it
            "POST answer": self._take,
            "POST leave": self._leave,
        }
        self.works: dict[str, Work] = {name: partial(self._wait, work) for name, work in works.items()}

    async def _wait(self, work, asked):
        async with self.turn:  # requests wait here and not in threads, of which there are few
            return await asyncio.to_thread(work, asked)

    def _ask(self, who):
        return {"question": self.desk.question(who), "progress": self.desk.progress()}

    def _leave(self, asked):
        self.desk.leave(check_name(asked.get("who")))
        return {}

    def _take(self, asked):
        who = check_name(asked.get("who"))
        if "label" not in asked:
            raise Refusal(400, "An answer must name a label, or null for “cannot tell”.")
        try:
            told = self.desk.answer(who, asked.get("row"), asked["label"], asked.get("id"))
        except NotAsked as error:
            raise Refusal(409, str(error), **self._ask(who)) from None
        return {"told": told, **self._ask(who)}


def _parse_int(text: str, least: int) -> int:
    if not text.isdecimal() or len(text) > 12 or int(text) < least:
        raise Refusal(400, f"A whole number of at least {least} was expected; got {text[:20]!r}.")
    return int(text)


def _read_seen(body: dict[str, Any]) -> int | None:
    seen = body.get("seen")
    if seen is not None and (type(seen) is not int or not 0 <= seen < 2**63):
        raise Refusal(400, "The act that was seen must be a whole number, at least 0.")
    return seen


def _parse_filter(words: dict[str, str]) -> Filter:
    unknown = set(words) - set(Filter.__dataclass_fields__)
    if unknown:
        raise Refusal(400, f"There is no filter {min(unknown)[:40]!r}.")
    kept: dict[str, Any] = {name: value for name, value in words.items() if value != ""}
    for name in {"low", "high"} & kept.keys():
        try:
            kept[name] = float(kept[name])
        except ValueError:
            raise Refusal(400, f"{name} must be a number; got {kept[name][:20]!r}.") from None
    return Filter(**kept)
