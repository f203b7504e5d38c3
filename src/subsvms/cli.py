"""The command line: parse, call, answer."""

from typing import Annotated

import typer

app = typer.Typer(
    help="Find wrong labels, and classify in spite of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # our own mistakes keep their traceback
)


def print_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        from subsvms import __version__

        typer.echo(f"subsvms {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find wrong labels, and classify in spite of them."""


@app.command(epilog="Example: subsvms demo --wrong 0.2 --seed 3")
def demo(
    wrong: Annotated[float, typer.Option(help="Share of the labels to make wrong, below 0.37.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Seed of attack and subsets.")] = 0,
) -> None:
    """Make labels of a real table wrong, then let a thousand tiny SVMs correct them.

    The table is scikit-learn's breast cancer data (569 rows, 30 features). Nothing is written.
    """
    from subsvms.demo import run_demo, show_demo

    try:
        show_demo(run_demo(wrong, seed))
    except ValueError as error:  # a wrong value on the command line, not a mistake of ours
        typer.echo(f"subsvms: {error}", err=True)
        raise typer.Exit(2) from None
