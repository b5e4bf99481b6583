"""Importing extensions: each under a name of its own, once per process."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from zlib import crc32

from pi.base.files import MOST_READ
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.finding import Candidate, Factory

PREFIX = "pi_extension_"
ENTRY = "extension"


def factory_of(candidate: Candidate) -> Factory:
    """The function of an extension; its module is imported if it is not yet.

    Whatever importing raises is raised, and nothing of it is left behind.
    """
    if candidate.factory is not None:
        return candidate.factory
    name, _, function = candidate.target.partition(":")
    if candidate.path is None:
        module = importlib.import_module(name)
    else:
        module = module_at(candidate.path, candidate.import_root)
    factory: Factory | None = getattr(module, function or ENTRY, None)
    if not callable(factory):
        raise ExtensionError(
            f"{candidate.where} has no function {function or ENTRY}(pi).",
            hint="Write `def extension(pi): ...` in it.",
        )
    return factory


def forget(candidate: Candidate) -> None:
    """Have an extension imported anew the next time; those that are in use stay as they are."""
    if candidate.path is not None:
        _drop(module_of(candidate))
        importlib.invalidate_caches()


def module_of(candidate: Candidate) -> str:
    """What the module of an extension is called; those inside it begin so, too."""
    path, root = candidate.path, candidate.import_root
    if path is None:
        module, _, _ = candidate.target.partition(":")
        return module or getattr(candidate.factory, "__module__", "")
    if root is not None and path.is_relative_to(root):
        return _dotted(path, root).partition(".")[0]
    return module_name(path)


def module_at(path: Path, import_root: Path | None = None) -> ModuleType:
    """The module of a file or folder, imported if it is not yet.

    With ``import_root``, it and what it needs is imported from there, after all that pi has itself.
    """
    _must_be_small(path / "__init__.py" if path.is_dir() else path)
    if import_root is None:
        return _module(path)
    from pi.coding.extension_host.import_roots import add_import_root  # few have packages

    add_import_root(import_root)
    if not path.is_relative_to(import_root):
        return _module(path)
    module = importlib.import_module(_dotted(path, import_root))
    if not Path(module.__file__ or "").is_relative_to(import_root):
        raise ExtensionError(
            f"{path} cannot be imported: {module.__name__} is {module.__file__}.",
            hint="Two packages have modules of one name; remove one of the packages.",
        )
    return module


def _must_be_small(file: Path) -> None:
    """Refuse a source that nobody has written: Python would read and compile the whole of it."""
    if file.exists() and file.stat().st_size > MOST_READ:
        raise ExtensionError(f"{file} is larger than {MOST_READ >> 20} MiB, which is not a source.")


def module_name(path: Path) -> str:
    """A name that no other extension has."""
    number = crc32(str(path.resolve()).encode("utf-8", "surrogateescape"))
    stem = "".join(letter if letter.isalnum() else "_" for letter in path.stem)
    return f"{PREFIX}{stem}_{number:08x}"


def _dotted(path: Path, root: Path) -> str:
    """The name of a module below a folder that is imported from."""
    return ".".join(path.relative_to(root).with_suffix("").parts)


def _module(path: Path) -> ModuleType:
    name = module_name(path)
    if (known := sys.modules.get(name)) is not None:
        return known
    file, inside = (path / "__init__.py", [str(path)]) if path.is_dir() else (path, None)
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    if spec is None or spec.loader is None:
        raise ExtensionError(f"{path} is no Python file.", hint="Its name must end with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if spec.cached and not sys.dont_write_bytecode:
        # Python would make the folder by the umask, and whoever may write there is imported.
        with suppress(OSError):
            Path(spec.cached).parent.mkdir(mode=0o700, exist_ok=True)
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
