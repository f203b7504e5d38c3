"""audit.json, in which version 0.1.0 stored an audit: it is taken over when the folder is opened.

Who may write takes its answers into the file of decisions, where they are acts like all others, and removes
audit.json; who only reads has them in memory, and leaves all files as they are. Nothing in it is trusted: a
checksum tells when somebody changed it, and then no claim could be made.
"""

import hashlib
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec

from subsvms._atomic import explaining
from subsvms.app.names import AUDIT_FILES
from subsvms.app.quoting import first_sentence, show
from subsvms.app.runs.answer_store import Answer, AnswerStore, BegunAudit, BegunEstimate
from subsvms.exceptions import TableError

FORMAT = 1
PARTS = {"audit": BegunAudit, "estimate": BegunEstimate}


def take_over(path: Path, decisions: AnswerStore, *, store: bool) -> None:
    """Take the audit and the estimate in audit.json over, into the file of decisions or only in memory."""
    with explaining(path):
        run, found = parse_book(path.read_bytes(), str(path))
    if run != decisions.file.digest:
        raise TableError(
            f"{str(path)!r} is about another run than the one in its folder: move it back to the folder in "
            "which it was made."
        )
    changing: Any = decisions.changing() if store else nullcontext()
    with changing as connection:
        for part, (how, answers) in found.items():
            if part in decisions.begun:
                if (how, answers) != (decisions.begun[part], decisions.answers[part][: len(answers)]):
                    raise TableError(
                        f"{str(path)!r} holds another {part} than {decisions.file.path.name!r} beside it: "
                        "move one of them away."
                    )
            elif store:
                decisions.begin(connection, part, how)
                decisions.answer(connection, part, answers)
            else:
                decisions.begun[part], decisions.answers[part] = how, answers
    if store:
        with explaining(path):
            for name in AUDIT_FILES:
                path.with_name(name).unlink(missing_ok=True)


def compute_digest(body: dict[str, Any]) -> str:
    """Return the checksum of all that the file holds."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def parse_book(data: bytes, name: str) -> tuple[str, dict[str, tuple[dict[str, Any], list[Answer]]]]:
    """Return the digest of the run, and by part how it was begun, and its answers in the order they came.

    Raise an error if the bytes of audit.json are not those that were written.
    """
    try:
        body = json.loads(data)
        if not isinstance(body, dict) or "subsvms_audit" not in body:
            raise ValueError("no format")
        version, digest = body["subsvms_audit"], body.pop("sha256", None)
        if version != FORMAT:
            raise ValueError(f"format {show(version)}, not {FORMAT}")
        if digest != compute_digest(body):
            raise ValueError("its checksum is another")
        found = {}
        for part, kind in PARTS.items():
            if (stored := body.get(part)) is not None:
                how = dict(vars(msgspec.convert(stored, kind)))
                if "state" in how:
                    how["state"] = how["state"] | {"answers": []}  # which follow from those that came
                found[part] = how, msgspec.convert(stored.get("answers", []), list[Answer])
        return msgspec.convert(body.get("run"), str), found
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"{name!r} is damaged, or somebody changed it ({show(first_sentence(error)).strip(chr(39))}): "
            "restore it from a copy, because a second audit of a table would void the claim."
        ) from None
