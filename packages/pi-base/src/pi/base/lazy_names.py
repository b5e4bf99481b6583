"""Names of a module that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def lazy_names(
    module: str,
    homes: Mapping[str, str | tuple[str, ...]],
    *,
    distributions: Mapping[str, str] | None = None,
) -> Callable[[str], object]:
    """Return the ``__getattr__`` of ``module``, which re-exports names of other modules.

    ``homes`` maps modules to their names; a plain string is a name for the module itself.
    ``distributions`` has those of the modules that may not be installed.
    """

    def look_up(name: str) -> object:
        for home, names in homes.items():
            if name == names:
                value: object = import_module(home)
            elif isinstance(names, tuple) and name in names:
                value = getattr(_import(home, distributions or {}), name)
            else:
                continue
            vars(sys.modules[module])[name] = value  # later lookups do not come here
            return value
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up


def _import(home: str, distributions: Mapping[str, str]) -> ModuleType:
    if home not in distributions:
        return import_module(home)
    from pi.base.optional_modules import import_optional  # deferred: few names need it

    return import_optional(home, distributions[home])
