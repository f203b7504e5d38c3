"""Sentences for programs: they name parameters where those for the command line name its options."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from subsvms.app.runs.options import FLAGS
from subsvms.exceptions import InputError

FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
COLUMN = r"('[^']*'|[^\s,;:'\"]*[^\s,;:'\".])"
NAMED = re.compile(rf"--(by|id|keep|exclude|only) (?!names |must ){COLUMN}")
QUOTED = r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\""  # the user's own words
WORDS = re.compile(rf"{NAMED.pattern}|{FLAG.pattern}|{QUOTED}")
PARAMETERS = {flag: name for name, flag in FLAGS.items()}  # that have another name on the command line


def name_parameters(sentence: str) -> str:
    """Return a sentence that names options of the command line with the names of parameters."""

    def name(found):
        if found[1]:
            return f"{PARAMETERS.get(found[1], found[1])}={shlex.split(found[2])[0]!r}"
        if not found[3]:
            return found[0]
        word = found[3].replace("-", "_")
        if word.startswith("no_"):
            return f"{word.removeprefix('no_')}=False"
        return PARAMETERS.get(word, word)

    return WORDS.sub(name, sentence)


@contextmanager
def naming_parameters() -> Iterator[None]:
    """Let errors about options name parameters."""
    try:
        yield
    except (InputError, TypeError) as error:
        if FLAG.search(str(error)):
            raise type(error)(name_parameters(str(error))) from None
        raise
