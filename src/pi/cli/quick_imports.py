"""Find our own modules in one step, because a start loads hundreds of them.

For each module Python asks all finders it has, and looks at folders and files in an order that
allows for every kind of module; that is a tenth of a start. Ours are all alike: a source file with
its compiled form beside it. Whatever is not, e.g. not yet compiled or changed since, is left to
Python, so that nothing but the time can be told from it.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType

import pi

_HEAD = 16
"""Bytes before the code in a compiled file: which Python, what kind, and of which source."""

_BINARY = getattr(os, "O_BINARY", 0)
"""Windows would translate line ends otherwise."""


@contextmanager
def quick_imports() -> Iterator[None]:
    """Modules of this package are found quickly inside."""
    finder = _Finder(pi.__spec__.cached or "")
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Finds a module if its compiled form is there and as old as the source."""

    def __init__(self, cached: str) -> None:
        self._suffix = cached.rpartition("__init__")[2]
        """E.g. ``.cpython-311.pyc``."""
        self._listings: dict[str, frozenset[str]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where it is, with its code; nothing if Python had better look itself."""
        if not name.startswith("pi.") or path is None or len(path) != 1:
            return None
        folder, leaf = path[0], name.rpartition(".")[2]
        package = leaf in self._listing(folder)
        if package:
            folder, leaf = f"{folder}{os.sep}{leaf}", "__init__"
        source = f"{folder}{os.sep}{leaf}.py"
        cached = f"{folder}{os.sep}__pycache__{os.sep}{leaf}{self._suffix}"
        if (code := _code(source, cached)) is None:
            return None
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=package)
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        spec.has_location, spec.cached = True, cached
        return spec

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            self._listings[folder] = frozenset(os.listdir(folder))
        return self._listings[folder]


class _Loader(SourceFileLoader):
    """Has the code already, for the first who asks."""

    def __init__(self, name: str, source: str, code: CodeType) -> None:
        super().__init__(name, source)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module."""
        code, self._code = self._code, None
        return code or super().get_code(fullname)


def _code(source: str, cached: str) -> CodeType | None:
    try:
        written = os.stat(source)
        data = _content(cached)
    except OSError:  # not there
        return None
    time, size = (int(number) & 0xFFFFFFFF for number in (written.st_mtime, written.st_size))
    head = MAGIC_NUMBER + bytes(4) + time.to_bytes(4, "little") + size.to_bytes(4, "little")
    if not data.startswith(head):
        return None
    code: CodeType = marshal.loads(memoryview(data)[_HEAD:])
    return code if code.co_filename == source else None


def _content(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _BINARY)
    try:
        return os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)
