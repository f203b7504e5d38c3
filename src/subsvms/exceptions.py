"""Errors, warnings and notes for users: sentences, and the values, shares and rates in them.

A sentence says what was expected, what was found and what to do. Parameters in it are fields and not words:
it is text that names them as Python does, `n_estimators`, `by='region'`, and the command line tells the same
sentence with names of its own, `--svms`, `--by region`. Values are filled in once and never read again, so a
brace in a table is only a brace. Sentences are copied, pickled and written as JSON like other text.
"""

import difflib
import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib.util import find_spec
from string import Formatter
from typing import Any

__all__ = ["DeviceError", "InputError", "LabelNoiseWarning", "TableError"]

NOTHING: Any = ...  # the value of a setting that names its parameter alone
ASIDE = "aside"  # `{output:aside}` is " (--output)" on the command line and nothing in Python
WIDE = 0.1  # an interval of a rate that is wider says too little: a table with no error and one with a tenth
UNKNOWN = "not known"
CHARACTERS_SHOWN = 300  # of a name, and of a value of a row to compare with
MAX_NAMED = 5  # classes or columns in a note; the others are counted
WHOLE = 100_000  # characters of a value for people who decide or answer: all of it, but for absurd sizes


class _Told(Exception):
    """An error whose sentence has a kind and a parameter; with values it is a template (`Sentence`)."""

    def __init__(self, *sentence: str, **values: Any):
        super().__init__(*([Sentence(*sentence, **values)] if values else sentence))

    @property
    def kind(self) -> str:
        """What kind of error it is, for programs; empty if nobody needs to ask."""
        return getattr(self.args[0], "kind", "") if self.args else ""

    @property
    def parameter(self) -> str | None:
        """The first parameter that the sentence names; None if it names none."""
        return getattr(self.args[0], "parameter", None) if self.args else None


class InputError(_Told, ValueError):
    """A value or a file that cannot be used; programs may ask for its `kind` and its `parameter`.

    Examples
    --------
    >>> import subsvms
    >>> try:
    ...     subsvms.correct_labels([[0.0], [1.0]], ["no", "no"])
    ... except subsvms.exceptions.InputError as error:
    ...     print(error.parameter, "-", error)
    y - y must hold at least two classes, but holds only one class, 'no': check that y is the label column.
    """


class TableError(InputError):
    """A table that cannot be used as it is.

    Examples
    --------
    >>> import pandas as pd, subsvms
    >>> try:
    ...     subsvms.correct_table(pd.DataFrame({"x": [1, 2], "y": ["no", "yes"]}), label="z")
    ... except subsvms.exceptions.TableError as error:
    ...     print(error)
    'frame' has no column 'z': its columns are 'x', 'y'.
    """


class DeviceError(_Told, RuntimeError):
    """A GPU has too little memory, or stopped answering.

    Examples
    --------
    >>> import subsvms
    >>> model = subsvms.SubSVMClassifier(n_estimators=20, device="auto", random_state=0)
    >>> try:
    ...     model = model.fit([[0.0], [1.0]], ["no", "yes"])
    ... except subsvms.exceptions.DeviceError:  # the result has the same bits
    ...     model = model.set_params(device="cpu").fit([[0.0], [1.0]], ["no", "yes"])
    """


class LabelNoiseWarning(UserWarning):
    """The labels are such that a correction should be reviewed before it is used.

    Examples
    --------
    >>> import warnings, subsvms
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", subsvms.exceptions.LabelNoiseWarning)  # stop, and review
    ...     correction = subsvms.correct_labels([[0.0], [0.1], [0.9], [1.0]] * 10, [0, 0, 1, 1] * 10)
    """


class MissingExtraError(ImportError):
    """An ImportError that names the extra to install, which the command shows as one sentence."""


def require_extra(what: str, extra: str, *modules: str) -> None:
    """Raise an error that names the extra to install, unless all these modules are installed."""
    if not all(map(find_spec, modules)):
        needed = f"run pip install 'subsvms[{extra}]'"
        raise MissingExtraError(f"{what} needs more than the library alone: {needed}.")


# Sentences


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
    if type(value) is str:  # as most are
        return value
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


# Values


def cut(text: str, most: int = CHARACTERS_SHOWN) -> str:
    """Return text that is short enough to be shown."""
    return text if len(text) <= most else text[:most] + "…"


def is_text(value: str) -> bool:
    """Return whether text can be written as UTF-8: it cannot if it contains an unpaired surrogate."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def format_value(value: object) -> str:
    """Return a value for a message, cut short, in one line."""
    return " ".join(reprlib.repr(value).split())


def name_few(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    n_more = len(names) - MAX_NAMED
    *others, last = names if n_more <= 0 else [*names[:MAX_NAMED], f"{n_more} more"]
    return f"{', '.join(others)} and {last}" if others else last


def find_closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is written most like this one; None if none is close."""
    folded = {other.strip().casefold(): other for other in known}
    near = difflib.get_close_matches(name.strip().casefold(), folded, n=1)
    return folded[near[0]] if near else None


def quote_spaces(name: str) -> str:
    """Return the name of a class; in quotes if it has spaces that cannot be seen, or several in a row."""
    return name if name == " ".join(name.split()) else repr(name)


# Shares and rates


def is_rate_known(low: float, high: float) -> bool:
    """Return whether an estimated rate may be named: only if its interval is not too wide."""
    # Where nothing can be estimated the interval goes from 0 to 1. Terminal, report and library ask here.
    return high - low <= WIDE


def is_share_open(interval: Any, contradicted: float | None) -> bool:
    """Return whether only answers tell how many labels are wrong."""
    # Errors that depend on the class alone make up a share in the interval, and others cannot be excluded up
    # to the share that is contradicted.
    return not is_rate_known(*interval) or is_far_beyond(interval, contradicted)


def is_far_beyond(interval: Any, contradicted: float | None) -> bool:
    """Return whether far more labels are contradicted than errors that depend on the class alone explain."""
    # A rate that is known is known to within `WIDE`, half of it on either side: more than that is far.
    return (contradicted or 0.0) - interval[1] > WIDE / 2


def format_percent(share: float) -> str:
    """Return a share in per cent, with a decimal where it matters; only 0 and 1 become 0 % and 100 %."""
    if share <= 0 or share >= 1:
        return f"{100 * share:.0f} %"
    if share < 0.001 or share > 0.999:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    decimals = 1 if share < 0.0995 or share > 0.99 else 0
    return f"{100 * share:.{decimals}f} %"


def format_count(number: int, one: str, more: str | None = None) -> str:
    """Return a number and the words for one or for several."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def format_interval(low: float, high: float) -> str:
    """Return an interval of shares."""
    return f"{format_percent(low).removesuffix(' %')} to {format_percent(high)}"


def format_rate(rate: float, low: float, high: float) -> str:
    """Return an estimated rate and its interval; the rate only if it is known."""
    if high - low >= 1:
        return UNKNOWN
    return f"{format_percent(rate) if is_rate_known(low, high) else UNKNOWN} ({format_interval(low, high)})"


def format_rates(rate: float, interval: Any, contradicted: float | None, judge: str | None = None) -> str:
    """Return both numbers about the errors of a table in a few words: one alone would promise too much."""
    others = UNKNOWN if contradicted is None else format_percent(contradicted)
    return f"errors by class {format_rate(rate, *interval)}, contradicted by {judge or 'votes'} {others}"


def format_others(contradicted: float | None, judge: str | None = None) -> str:
    """Return what is not known about errors that do not depend on the class alone, in a sentence."""
    others = "errors of other kinds (near the border, in a region, by one person) cannot be excluded"
    only = "only people's answers can tell"
    if contradicted is None:
        return f"{others[0].upper()}{others[1:]}; {only}."
    who = "The votes contradict" if judge is None else f"{judge[0].upper()}{judge[1:]} contradicts"
    return f"{who} {format_percent(contradicted)} of the labels: at least up to that share, {others}; {only}."
