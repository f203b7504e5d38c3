"""Sentences for users, in which parameters are fields and not words.

A sentence is text, and names parameters as Python does: `n_estimators`, `by='region'`. The command line tells
the same sentence with names of its own: `--svms`, `--by region`. Values are filled in once and never read
again, so a brace in a table is only a brace. Sentences are copied, pickled and written as JSON like other
text.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from string import Formatter
from typing import Any

NOTHING: Any = ...  # the value of a setting that names its parameter alone
ASIDE = "aside"  # `{output:aside}` is " (--output)" on the command line and nothing in Python


@dataclass(frozen=True)
class Setting:
    """A parameter in a sentence, with a value or without."""

    parameter: str  # its name in Python
    value: Any = NOTHING
    aside: bool = False  # whether it is left out where parameters have Python's names

    def __str__(self) -> str:
        if self.aside:
            return ""
        return self.parameter if self.value is NOTHING else f"{self.parameter}={self.value!r}"


class Sentence(str):
    """A text made from a template: `{name}` is one of the values, or else the parameter of that name.

    `{engine=local}` and `{force=True}` are parameters with a value.
    """

    parts: tuple[Any, ...]  # texts, settings and other sentences

    def __new__(cls, template: str, /, **values: Any) -> "Sentence":
        """Fill in a template."""
        return cls._join(_fill(template, values))

    @classmethod
    def _join(cls, parts):
        made = super().__new__(cls, "".join(map(str, parts)))
        made.parts = tuple(parts)
        return made

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self.__dict__)

    @property
    def parameter(self) -> str | None:
        """The first parameter that the sentence names; None if it names none."""
        found = (getattr(part, "parameter", None) for part in self.parts)
        return next((name for name in found if name is not None), None)

    def told(self, name: Callable[[Setting], str]) -> "Sentence":
        """Return the sentence with other names for its settings; a note keeps its kind."""
        words = "".join(tell(part, name) for part in self.parts)
        return _rebuild(type(self), self.__dict__ | {"parts": (words,)})


class Note(Sentence):
    """A sentence that programs may ask for its kind: what to know about a result, or about an error."""

    kind: str

    def __new__(cls, kind: str, template: str, /, **values: Any) -> "Note":
        """Fill in a template."""
        made = cls._join(_fill(template, values))
        made.kind = kind
        return made

    @classmethod
    def plain(cls, kind: str, text: str) -> "Note":
        """Return a note that names no parameter; its text is no template."""
        return cls(kind, "{text}", text=text)


def _rebuild(cls, state):
    made = cls._join(state["parts"])
    made.__dict__.update(state)
    return made


def _fill(template, values):
    """Return the parts of a sentence."""
    parts = []
    for text, field, spec, conversion in Formatter().parse(template):
        parts += [text] * bool(text)
        if field is None:
            continue
        value = values[field] if field in values else _read_setting(field)
        if isinstance(value, Exception) and len(value.args) == 1:
            value = value.args[0]
        if isinstance(value, Setting):
            value = replace(value, aside=spec == ASIDE)
        elif not isinstance(value, Sentence) or spec or conversion:
            value = format(Formatter().convert_field(value, conversion), spec or "")
        parts.append(value)
    return parts


def _read_setting(field):
    """Return a setting as a template has it: its parameter, or as in `engine=local` also a value."""
    name, equals, value = field.partition("=")
    return Setting(name, {"True": True, "False": False}.get(value, value)) if equals else Setting(name)


def join_sentences(parts: Any, between: str = " ") -> Sentence:
    """Return several sentences as one."""
    pieces = [piece for part in parts for piece in (between, part)]
    return Sentence._join(pieces[1:])


def tell(value: Any, name: Callable[[Setting], str]) -> Any:
    """Return a value with its sentences told with other names, also those that it holds."""
    if isinstance(value, Setting):
        return name(value)
    if isinstance(value, Sentence):
        return value.told(name)
    if isinstance(value, dict):
        return {key: tell(one, name) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: tell(getattr(value, one.name), name) for one in fields(value)})
    if isinstance(value, list | tuple):
        return type(value)(tell(one, name) for one in value)
    return value
