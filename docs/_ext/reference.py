"""The public names, as the packages list them in `__all__`: what the reference is made of."""

import importlib
import inspect

import subsvms

PACKAGES = ("correction", "ensemble", *subsvms._MODULES)


def list_public_names() -> dict[str, list[str]]:
    """Return the public names of each package; those that `subsvms` itself has are listed only there."""
    names = {"subsvms": [name for name in subsvms.__all__ if not inspect.ismodule(getattr(subsvms, name))]}
    for package in PACKAGES:
        module = importlib.import_module(f"subsvms.{package}")
        names[module.__name__] = [name for name in module.__all__ if name not in names["subsvms"]]
    return names
