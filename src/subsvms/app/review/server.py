"""The local page: requests in, plain values of the desk out.

`guard` lets only requests of the page itself through. Decisions that arrive while others are being written
to disk are written together afterwards: one wait for the disk serves all of them.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from subsvms.app.review.desk import PAGE_ROWS, Desk, format_count
from subsvms.app.review.filters import Filter
from subsvms.app.review.guard import (
    TEMPLATES,
    Guard,
    Refusal,
    answer,
    answer_mistake,
    answer_refusal,
    parse_int,
    read_body,
)
from subsvms.app.runs.acts import Act, Conflict, NothingToUndo, check_name, check_note
from subsvms.app.runs.decision_file import BrokenFile
from subsvms.exceptions import TableError

REFRESH_SECONDS = 0.5  # between looks for what other processes decided


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
    """Return the application that serves a desk."""
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
        Route("/api/redo", pages.redo, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("subsvms.app.review", "static")])),
    ]
    handlers: Any = {Refusal: answer_refusal, TableError: answer_mistake, BrokenFile: answer_damage}
    inner = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers=handlers)
    return Guard(inner, token, hosts, "review")


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
        return JSONResponse(await asyncio.to_thread(lambda: self.desk.meta))

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
        who = check_name((await read_body(request)).get("who"))
        try:
            taken = await asyncio.to_thread(self.desk.undo, who)
        except NothingToUndo:
            raise Refusal(409, "You have nothing left to undo.") from None
        return JSONResponse({"rows": [decision.row for decision in taken], **self.desk.count()})

    async def redo(self, request: Request) -> Response:
        """Decide again what this person undid last."""
        who = check_name((await read_body(request)).get("who"))
        try:
            again = await asyncio.to_thread(self.desk.redo, who)
        except NothingToUndo:
            raise Refusal(409, "You have nothing to redo.") from None
        except Conflict as conflict:
            name = conflict.theirs[0].who
            raise Refusal(409, f"{name} decided differently since, so nothing was redone.") from None
        return JSONResponse({"rows": [decision.row for decision in again], **self.desk.count()})


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
