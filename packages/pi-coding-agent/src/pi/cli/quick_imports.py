"""Finds modules in one step, because a start loads hundreds of them. Does not use pathlib.

For each module Python calls all finders, and checks folders and files for every kind of module.
Nearly all modules of pi and of the standard library are a source file with a compiled file beside
it. All others, e.g. not yet compiled or changed since, are left to Python.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.importlib import MetaPathFinderProtocol

_KIND = MAGIC_NUMBER + bytes(4)
"""First bytes of a compiled file that is valid for a source file with a certain time and size."""

_HEAD = len(_KIND) + 8
"""Header size: magic number and flags, then the time and the size."""

_BINARY = getattr(os, "O_BINARY", 0)
"""Prevents newline translation on Windows."""

_LIBRARY = os.__file__.rpartition(os.sep)[0]
"""The folder of the standard library."""


def quick_imports(package: str = "pi", *, library: str = _LIBRARY) -> AbstractContextManager[None]:
    """Find the modules of ``package`` and of the standard library in one step inside the block."""
    return finder_first(_QuickFinder(package, library))


@contextmanager
def finder_first(finder: MetaPathFinderProtocol) -> Iterator[None]:
    """Put ``finder`` before the other finders inside the block."""
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _QuickFinder:
    """Finds a module if its compiled file exists and matches the source."""

    def __init__(self, package: str, library: str) -> None:
        self._names = sys.stdlib_module_names | {package}
        self._library = library
        self._suffix = f".{sys.implementation.cache_tag}.pyc"

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec with the code, or ``None`` to leave the module to Python."""
        if name.partition(".")[0] not in self._names:
            return None
        leaf = name.rpartition(".")[2]
        # A namespace has a folder for each package of a checkout, and one when it is installed.
        for folder in (self._library,) if path is None else path:
            if spec := self._spec(name, folder, leaf) or self._spec(
                name, f"{folder}{os.sep}{leaf}", "__init__"
            ):
                return spec
        return None

    def _spec(self, name: str, folder: str, leaf: str) -> ModuleSpec | None:
        source = f"{folder}{os.sep}{leaf}.py"
        cached = f"{folder}{os.sep}__pycache__{os.sep}{leaf}{self._suffix}"
        if (code := _code(source, cached)) is None:
            return None
        is_package = leaf == "__init__"
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=is_package)
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        spec.has_location, spec.cached = True, cached
        return spec


class _Loader(SourceFileLoader):
    """Returns code that is already loaded, once."""

    def __init__(self, name: str, source: str, code: CodeType) -> None:
        super().__init__(name, source)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module."""
        code, self._code = self._code, None
        return code or super().get_code(fullname)


def _code(source: str, cached: str) -> CodeType | None:
    """Return the code of a source file, if it is compiled and the source was neither changed nor
    moved.
    """
    try:
        written = os.stat(source)  # noqa: PTH116
        data = _content(cached)
    except OSError:  # not found
        return None
    if not data.startswith(_KIND + _word(written.st_mtime) + _word(written.st_size)):
        return None
    code: CodeType = marshal.loads(memoryview(data)[_HEAD:])
    return code if code.co_filename == source else None


def _word(number: float) -> bytes:
    return (int(number) & 0xFFFFFFFF).to_bytes(4, "little")


def _content(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | _BINARY)
    try:
        return os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)
