"""Importing extensions: each under a name of its own, once per process."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from zlib import crc32

from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.finding import Candidate

Factory: TypeAlias = Callable[[Any], Any]
"""``extension(pi)``, sync or async."""

PREFIX = "pi_extension_"
ENTRY = "extension"


def factory_of(candidate: Candidate) -> Factory:
    """The function of an extension; its module is imported if it is not yet.

    Whatever importing raises is raised, and nothing of it is left behind.
    """
    if candidate.factory is not None:
        return candidate.factory  # type: ignore[no-any-return]
    if candidate.path is None:
        name, _, function = candidate.target.partition(":")
        module = importlib.import_module(name)
    else:
        function = ENTRY
        module = _module(candidate.path)
    factory = getattr(module, function or ENTRY, None)
    if not callable(factory):
        raise ExtensionError(
            f"{candidate.where} has no function {function or ENTRY}(pi).",
            hint="Write `def extension(pi): ...` in it.",
        )
    return factory  # type: ignore[no-any-return]


def forget(candidate: Candidate) -> None:
    """Have an extension imported anew the next time; those that are in use stay as they are."""
    if candidate.path is None:
        return
    _drop(module_name(candidate.path))
    importlib.invalidate_caches()


def module_name(path: Path) -> str:
    """A name that no other extension has."""
    number = crc32(str(path.resolve()).encode("utf-8", "surrogateescape"))
    stem = "".join(letter if letter.isalnum() else "_" for letter in path.stem)
    return f"{PREFIX}{stem}_{number:08x}"


def _module(path: Path) -> ModuleType:
    name = module_name(path)
    if (known := sys.modules.get(name)) is not None:
        return known
    file, inside = (path / "__init__.py", [str(path)]) if path.is_dir() else (path, None)
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    if spec is None or spec.loader is None:
        raise ExtensionError(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _drop(name)
        raise
    return module


def _drop(name: str) -> None:
    for known in [*sys.modules]:
        if known == name or known.startswith(f"{name}."):
            del sys.modules[known]
