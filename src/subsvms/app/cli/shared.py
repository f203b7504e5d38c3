"""What the commands share: the application, options, what is printed, and errors in one sentence."""

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import Field
from typing import IO, Annotated, Any

import typer
from typer.core import TyperGroup

from subsvms._atomic import format_system_error
from subsvms.app.declared import DECLARED, list_types, takes_several
from subsvms.app.options import as_flag, tell_flags
from subsvms.app.quoting import show
from subsvms.app.tables.formats import FORMATS
from subsvms.exceptions import DeviceError, InputError, MissingExtraError, Sentence, Setting, is_text

OUT_OF_MEMORY = Sentence(
    "There is not enough memory: close other programs, or work in parts{engine=local:aside}."
)

# Characters with which a text could control a terminal, or change the order of what it shows.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
COUNT = re.compile("[0-9]{1,18}")


class Commands(TyperGroup):
    """All commands: errors meant for the user are reported in one sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with errors_as_sentences():
            return super().invoke(ctx)

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        """Parse the command line and run the command; help and version are printed here."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # no text is refused because of the terminal's encoding
                stream.reconfigure(errors="backslashreplace")
        try:
            with errors_as_sentences():
                words = list(sys.argv[1:] if args is None else args)
                for word in words:
                    if not is_text(word):  # it could not be written to the record of a run
                        raise InputError(f"{show(word)} is not valid UTF-8: rename it, or write it in UTF-8.")
                return super().main(args, *more, obj=words, **options)  # commands find them in `context.obj`
        except typer.Exit as stop:
            sys.exit(stop.exit_code)


app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False,
    pretty_exceptions_enable=False,  # bugs keep their traceback
)  # fmt: skip


def print_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        from subsvms import __version__

        print_text(f"subsvms {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find wrong labels, and classify in spite of them."""


TITLES = [one.title for one in FORMATS.values()]
FILE_HELP = (
    f"{', '.join(TITLES[:-1])} or {TITLES[-1]}, compressed or not; a folder of Hugging Face's datasets; the "
    "address of a database, with --query; - is standard input."
)
File = Annotated[str, typer.Argument(help=FILE_HELP)]
Label = Annotated[str, typer.Option(help="Name of the label column.")]


def takes(*options: Field) -> Callable[[Callable], Callable]:
    """Let a command take these options; they come as its `**given`, by their names in Python."""

    def decorate(command):
        own = [one for one in inspect.signature(command).parameters.values() if one.kind != one.VAR_KEYWORD]
        command.__signature__ = inspect.Signature([*own, *map(as_parameter, options)])
        return command

    return decorate


def as_parameter(one: Field) -> inspect.Parameter:
    """Return an option as typer takes it."""
    declared, types, several = one.metadata[DECLARED], list_types(one), takes_several(one)
    names = [as_flag(Setting(one.name)), *declared.old_flag.split()]
    how: dict[str, Any] = {"rich_help_panel": declared.group or None, "hidden": declared.hidden}
    how["min"], how["max"] = declared.span
    if int in types and str in types:
        how |= {"parser": lambda text: int(text) if COUNT.fullmatch(text) else text, "metavar": "<str>"}
    if types == (bool,) and one.default is not False:
        names[0] += f"/--no-{names[0].removeprefix('--')}"
    words = str(tell_flags(Sentence(declared.help))) + " May be repeated." * several
    kind = list[str] if several else str if str in types else types[0]
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=one.default if isinstance(one.default, str | int | float) else None,
        annotation=Annotated[kind | None, typer.Option(*names, help=words, **how)],
    )


def make_printable(text: str) -> str:
    """Return a text without characters that control a terminal; they are shown as escapes."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def print_text(text: str) -> None:
    """Print a text that may hold anything from a table."""
    typer.echo(make_printable(tell_flags(text)))


def silence(stream: IO[str] | None) -> None:
    """Discard what a stream does not accept, so that Python does not complain about it when it ends."""
    if stream is None:  # closed from the beginning
        return
    try:
        stream.flush()
        return
    except (OSError, ValueError):
        pass
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Report in one sentence what a user can do something about, with exit code 2, and Ctrl-C with 130."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print_error(f"warning: {tell_error(message)}")
            yield
    except KeyboardInterrupt as stop:
        print_error(f"stopped; {stop}." if str(stop) else "stopped.")
        raise typer.Exit(130) from None
    except (DeviceError, InputError, MissingExtraError, MemoryError, OSError) as error:  # others are bugs
        silence(sys.stdout)  # if it is full
        if isinstance(error, BrokenPipeError):  # the reader closed the pipe
            raise typer.Exit(1) from None
        print_error(format_error(error))
        raise typer.Exit(2) from None


def format_error(error: BaseException) -> str:
    """Return the sentence for an error."""
    if isinstance(error, MemoryError):
        return tell_flags(OUT_OF_MEMORY)
    if isinstance(error, FileNotFoundError) and error.filename is None:
        try:
            os.getcwd()
        except FileNotFoundError:
            return "The working directory no longer exists: change to another."
    return format_system_error(error) if isinstance(error, OSError) else tell_error(error)


def tell_error(error: BaseException | str) -> str:
    """Return what an error or a warning says, with names of options instead of parameters."""
    return str(error) if isinstance(error, str) or len(error.args) != 1 else str(tell_flags(error.args[0]))


def print_error(text: str) -> None:
    """Print an error, if possible."""
    try:
        typer.echo(f"subsvms: {make_printable(text)}", err=True)
    except OSError:
        silence(sys.stderr)
