"""Parameters of commands, made from the declarations of options."""

import inspect
import re
from collections.abc import Callable
from dataclasses import Field
from typing import Annotated, Any

import typer

from subsvms._sentences import Sentence, Setting
from subsvms.app.runs.options import DECLARED, as_flag, list_types, takes_several, tell_flags


def takes(*options: Field) -> Callable[[Callable], Callable]:
    """Let a command take these options; they come as its `**given`, by their names in Python."""

    def decorate(command):
        own = [one for one in inspect.signature(command).parameters.values() if one.kind != one.VAR_KEYWORD]
        command.__signature__ = inspect.Signature([*own, *map(as_parameter, options)])
        return command

    return decorate


def as_parameter(one: Field) -> inspect.Parameter:
    """Return an option as typer takes it."""
    declared, flag, types = one.metadata[DECLARED], as_flag(Setting(one.name)), list_types(one)
    several, yes_or_no = takes_several(one), types == (bool,)
    how: dict[str, Any] = {"rich_help_panel": declared.group or None, "hidden": declared.hidden}
    if int in types and str in types:
        how |= {"parser": read_size, "metavar": "<str>"}
    if yes_or_no and one.default is None:
        flag += f"/--no-{flag.removeprefix('--')}"
    words = str(tell_flags(Sentence(declared.help)))
    kind = list[str] if several else bool if yes_or_no else str if str in types else types[0]
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=one.default if yes_or_no or isinstance(one.default, str | float) else None,
        annotation=Annotated[
            kind | None, typer.Option(flag, help=f"{words} May be repeated." if several else words, **how)
        ],
    )


def read_size(text: str) -> str | int:
    """Return the size of a subset: a number if it is one."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else text
