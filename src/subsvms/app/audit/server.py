"""The audit page: questions out, answers in.

Nothing leaves this machine's memory before an answer that would give away what the run thinks of a row: the
questions of the desk do not hold it. An answer is on disk before it is acknowledged, and the acknowledgement
brings the next question.
"""

import asyncio
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from subsvms.app.audit.desk import NotAsked, QuestionDesk
from subsvms.app.review.guard import Guard, Refusal, answer_mistake, answer_refusal, read_body
from subsvms.app.runs.acts import check_name
from subsvms.app.runs.describe import cut
from subsvms.exceptions import InputError

PACKAGES = ("subsvms.app.audit", "subsvms.app.review")  # the audit page is made of parts of the review page
LOADER = ChoiceLoader([PackageLoader(package) for package in PACKAGES])
TEMPLATES = Environment(loader=LOADER, autoescape=True)


def make_app(desk: QuestionDesk, token: str, hosts: set[str]) -> ASGIApp:
    """Return the application that serves a desk."""
    pages = Pages(desk, token)
    routes = [
        Route("/", pages.show_page),
        Route("/api/meta", pages.show_meta),
        Route("/api/progress", pages.show_progress),
        Route("/api/question", pages.ask, methods=["POST"]),  # as it reserves the question
        Route("/api/answer", pages.take, methods=["POST"]),
        Route("/api/leave", pages.leave, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[(package, "static") for package in PACKAGES])),
    ]
    handlers: Any = {Refusal: answer_refusal, InputError: answer_mistake}
    inner = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers=handlers)
    return Guard(inner, token, hosts, "audit")


class Pages:
    """The answers to requests, one method each."""

    def __init__(self, desk: QuestionDesk, token: str):
        self.desk, self.token = desk, token
        self.is_estimate = desk.part == "estimate"
        self.turn = asyncio.Lock()  # requests wait here and not in threads, of which there are few

    async def _work(self, work, *values):
        async with self.turn:
            return await asyncio.to_thread(work, *values)

    async def show_page(self, request: Request) -> Response:
        """Return the page itself."""
        progress = await self._work(self.desk.progress)
        words = {
            "title": self.desk.title, "base": f"/{self.token}/", "is_estimate": self.is_estimate,
            "is_blind": self.desk.is_blind, "n_answers": progress["n_answers"],
        }  # fmt: skip
        return HTMLResponse(TEMPLATES.get_template("audit.html").render(words))

    async def show_meta(self, request: Request) -> Response:
        """Return what stays the same while the page is open."""
        desk = self.desk
        return JSONResponse(
            {
                "title": desk.title,
                "label": cut(desk.options.label),
                "classes": desk.classes,
                "folder": str(desk.folder),
                "is_estimate": self.is_estimate,
            }  # fmt: skip
        )

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
