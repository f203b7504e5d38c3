"""Say which extra to install where the library alone is not enough."""

from importlib.util import find_spec


class MissingExtraError(ImportError):
    """An ImportError that names the extra to install, which the command shows as one sentence."""


def require_extra(what: str, extra: str, *modules: str) -> None:
    """Raise an error that names the extra to install, unless all these modules are installed."""
    if not all(map(find_spec, modules)):
        needed = f"run pip install 'subsvms[{extra}]'"
        raise MissingExtraError(f"{what} needs more than the library alone: {needed}.")
