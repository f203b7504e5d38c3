"""How an option is declared, checked, and documented: its name, type, default, limits and help, in one place.

The options themselves are the fields of the classes in `subsvms.app.options`. Their help is a template
(`Sentence`), told with the names of each door. Nothing here takes long to import.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from numbers import Integral
from types import UnionType
from typing import Any, ParamSpec, TypeVar, get_args

from subsvms._numbers import check_count, check_range, check_seed
from subsvms.app.quoting import suggest
from subsvms.exceptions import Sentence, Setting, TableError

DECLARED = "option"  # the key of a field's metadata
Asked = ParamSpec("Asked")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Declared:
    """What there is to know about an option, besides the name, type and default of its field."""

    help: str
    flag: str = ""  # on the command line, if it is not the name with dashes
    old_flag: str = ""  # which still means the same
    group: str = ""  # of `--help`
    choices: tuple[str, ...] = ()
    low: float | None = None  # limits of a number
    high: float | None = None
    span: tuple[float | None, float | None] = (None, None)  # limits that `--help` shows, and typer checks
    kind: str = ""  # type in the documentation of Python, if the annotation does not say it
    hidden: bool = False  # whether `--help` leaves it out


def option(default: Any, help: str, **declared: Any) -> Any:
    """Declare an option, the field of a dataclass; `declared` is for `Declared`."""
    return field(default=default, metadata={DECLARED: Declared(help, **declared)})


class Checked:
    """Options whose values are checked when they are given."""

    def __post_init__(self) -> None:
        for one in list_options(type(self)):
            object.__setattr__(self, one.name, check_option(one, getattr(self, one.name)))


def list_options(cls: type, *names: str) -> list[Field]:
    """Return the options that a class declares, or some of them; first those without a keyword."""
    declared = sorted(fields(cls), key=lambda one: bool(one.kw_only))
    found = {one.name: one for one in declared if DECLARED in one.metadata}
    return [found[name] for name in names] if names else list(found.values())


def list_types(one: Field) -> tuple[Any, ...]:
    """Return the types that the value of an option may have, None left out."""
    types = get_args(one.type) if isinstance(one.type, UnionType) else (one.type,)
    return tuple(kind for kind in types if kind is not type(None))


def takes_several(one: Field) -> bool:
    """Return whether an option takes several names."""
    return list_types(one) == (Sequence[str],)


def check_option(one: Field, value: Any) -> Any:
    """Return the value of an option as it is recorded; raise an error if it is not allowed."""
    declared: Declared = one.metadata[DECLARED]
    if takes_several(one):
        if isinstance(value, str | Integral) and not isinstance(value, bool):  # pandas has columns of numbers
            return (str(value),)
        if value is not None and (not isinstance(value, Iterable) or isinstance(value, bytes | dict)):
            raise TableError(
                "{name} must be a list of names; got {value!r}.", name=Setting(one.name), value=value
            )
        names = () if value is None else tuple(map(str, value))
        return tuple(dict.fromkeys(names)) if one.name == "by" else names  # others say what is there twice
    if one.name == "random_state":
        value = check_seed(value)
    if value is None and one.default is None:
        return None
    value = value.item() if getattr(value, "shape", None) == () else value  # a number of NumPy
    types = list_types(one)
    if declared.choices and (isinstance(value, str) or int not in types):
        if not isinstance(value, str) or value not in declared.choices:
            words = "{name} must be one of {known}; got {value!r}{hint}"
            if int in types:
                words = "{name} must be {known} or a whole number; got {value!r}{hint}"
            hint, known = suggest(str(value), declared.choices) or ".", ", ".join(declared.choices)
            raise TableError(words, name=Setting(one.name), known=known, value=value, hint=hint)
    elif declared.low is not None and int in types:
        check_count(one.name, value, int(declared.low))
    if declared.low is not None and declared.high is not None:
        check_range(one.name, value, declared.low, declared.high)
    if types == (str,) and not isinstance(value, str):
        raise TableError("{name} must be text; got {value!r}.", name=Setting(one.name), value=value)
    if types == (bool,) and not isinstance(value, bool):
        raise TableError("{name} must be True or False; got {value!r}.", name=Setting(one.name), value=value)
    return value


# In Python


def taking(parameters: Callable[Asked, Any]) -> Callable[[Callable[..., Result]], Callable[Asked, Result]]:
    """Give a function the parameters of a class of options: in its signature, documentation and call."""

    def decorate(function: Callable[..., Result]) -> Callable[Asked, Result]:
        signature = inspect.signature(parameters)

        @wraps(function)
        def call(*args, **values):
            signature.bind(*args, **values)  # an error names the parameter, and not our class
            return function(parameters(*args, **values))

        returns = inspect.signature(function).return_annotation
        call.__signature__ = signature.replace(return_annotation=returns)  # type: ignore[attr-defined]
        first, end, rest = inspect.cleandoc(function.__doc__ or "").partition("Returns\n")
        call.__doc__ = f"{first}{document(parameters)}\n\n{end}{rest}"
        return call

    return decorate


def document(cls: Any) -> str:
    """Return the section on the parameters of a function that takes the options of a class."""
    lines = ["Parameters", "----------"]
    for one in list_options(cls):
        declared = one.metadata[DECLARED]
        asked = one.default is MISSING or takes_several(one)
        shown = repr(one.default).replace("'", '"')
        lines.append(f"{one.name} : {describe_type(one)}{'' if asked else f', default={shown}'}")
        lines += textwrap.wrap(Sentence(declared.help), 100, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def describe_type(one: Field) -> str:
    """Return the type of an option as the documentation of Python has it."""
    declared = one.metadata[DECLARED]
    if declared.kind or takes_several(one):
        return declared.kind or "list of str"
    choices = [", ".join(f'"{name}"' for name in declared.choices).join("{}")] * bool(declared.choices)
    types = [kind.__name__ for kind in list_types(one) if not (kind is str and choices)]
    return " or ".join([*choices, *types])
