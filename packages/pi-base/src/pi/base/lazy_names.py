"""Names of a module that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(module: str, homes: Mapping[str, str | tuple[str, ...]]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of ``module``, which re-exports names of other modules.

    ``homes`` maps modules to their names; a plain string is a name for the module itself.
    """

    def look_up(name: str) -> object:
        for home, names in homes.items():
            if name == names:
                value: object = import_module(home)
            elif isinstance(names, tuple) and name in names:
                value = getattr(import_module(home), name)
            else:
                continue
            vars(sys.modules[module])[name] = value  # later lookups do not come here
            return value
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up
