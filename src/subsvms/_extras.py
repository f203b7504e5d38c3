"""Say which extra to install where the library alone is not enough."""

from importlib.util import find_spec


def require_extra(what: str, extra: str, *modules: str) -> None:
    """Raise an ImportError that names the extra to install, unless all these modules are installed.

    Examples
    --------
    >>> require_extra("Flying", "wings", "numpy", "feathers")
    Traceback (most recent call last):
    ImportError: Flying needs more than the library alone: run pip install 'subsvms[wings]'.
    """
    if not all(map(find_spec, modules)):
        raise ImportError(f"{what} needs more than the library alone: run pip install 'subsvms[{extra}]'.")
