"""audit.json, in which version 0.1.0 stored an audit: it is taken over when the folder is opened.

Afterwards its answers are acts like all others, in the file of decisions, and audit.json is removed. Nothing
in it is trusted: a checksum tells when somebody changed it, and then no claim could be made.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from subsvms._atomic import explaining
from subsvms.app.names import AUDIT_FILES
from subsvms.app.runs.acts import Answer, BegunAudit, BegunEstimate
from subsvms.app.runs.decisions import Decisions
from subsvms.app.words import first_sentence, show
from subsvms.exceptions import TableError

FORMAT = 1


@dataclass(frozen=True)
class StoredAudit(BegunAudit):
    """An audit in audit.json; its state has the answers as well."""

    answers: list[Answer] = field(default_factory=list)  # in the order in which they came


@dataclass(frozen=True)
class StoredEstimate(BegunEstimate):
    """An estimate in audit.json."""

    answers: list[Answer] = field(default_factory=list)


@dataclass(frozen=True)
class Book:
    """What audit.json holds."""

    run: str  # SHA-256 of the run's record
    audit: StoredAudit | None = None
    estimate: StoredEstimate | None = None


def take_over(path: Path, decisions: Decisions) -> None:
    """Take the audit and the estimate in audit.json into the file of decisions, and remove audit.json."""
    with explaining(path):
        book = parse_book(path.read_bytes(), str(path))
    if book.run != decisions.file.digest:
        raise TableError(
            f"{str(path)!r} is about another run than the one in its folder: move it back to the folder in "
            "which it was made."
        )
    with decisions.changing() as connection:
        for part, stored in (("audit", book.audit), ("estimate", book.estimate)):
            if stored is None:
                continue
            how = {name: value for name, value in vars(stored).items() if name != "answers"}
            if isinstance(stored, StoredAudit):
                how["state"] = stored.state | {"answers": []}  # which follow from those that came
            if part not in decisions.begun:
                decisions.begin(connection, part, how)
                decisions.answer(connection, part, stored.answers)
            elif (how, stored.answers) != (
                decisions.begun[part],
                decisions.answers[part][: len(stored.answers)],
            ):
                raise TableError(
                    f"{str(path)!r} holds another {part} than {decisions.file.path.name!r} beside it: move "
                    "one of them away."
                )
    with explaining(path):
        for name in AUDIT_FILES:
            path.with_name(name).unlink(missing_ok=True)


def compute_digest(body: dict[str, Any]) -> str:
    """Return the checksum of all that the file holds."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def parse_book(data: bytes, name: str) -> Book:
    """Return what the bytes of audit.json hold; raise an error if they are not those that were written."""
    try:
        body = json.loads(data)
        if not isinstance(body, dict) or "subsvms_audit" not in body:
            raise ValueError("no format")
        version, digest = body["subsvms_audit"], body.pop("sha256", None)
        if version != FORMAT:
            raise ValueError(f"format {show(version)}, not {FORMAT}")
        if digest != compute_digest(body):
            raise ValueError("its checksum is another")
        return msgspec.convert(body, Book)
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"{name!r} is damaged, or somebody changed it ({show(first_sentence(error)).strip(chr(39))}): "
            "restore it from a copy, because a second audit of a table would void the claim."
        ) from None
