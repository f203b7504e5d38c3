"""Audit pages that are served, and people at them."""

from contextlib import ExitStack
from functools import partial

import pytest
from browsers import Auditor, serving_here

from subsvms.app.desk.audit import AuditDesk


@pytest.fixture
def audit(browser, folder):
    """Return a function that serves a folder and returns one that makes people; their pages are checked."""
    people = []
    with ExitStack() as stack:

        def open_page(place=folder, *, open_desk=AuditDesk, **options):
            address = stack.enter_context(serving_here(place, partial(open_desk, **options)))
            return lambda **more: people.append(Auditor(browser, address, **more)) or people[-1]

        yield open_page
        for person in people:
            person.check()
            person.context.close()
