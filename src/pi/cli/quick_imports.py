"""Find our own modules in one step, because a start loads hundreds of them. Needs no pathlib.

For each module Python asks all finders it has, and looks at folders and files in an order that
allows for every kind of module. Ours are all alike: a source file with its compiled form beside it.
Whatever is not, e.g. not yet compiled or changed since, is left to Python.
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

_KIND = MAGIC_NUMBER + bytes(4)
"""How a compiled file begins that belongs to a source file with a certain time and size."""

_HEAD = len(_KIND) + 8
"""Bytes before the code: these, then the time and the size."""

_BINARY = getattr(os, "O_BINARY", 0)
"""Windows would translate line ends otherwise."""


@contextmanager
def quick_imports(package: ModuleType = pi) -> Iterator[None]:
    """The modules of ``package`` are found in one step inside."""
    finder = _Finder(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Finds a module if its compiled form is there and as old as the source."""

    def __init__(self, package: ModuleType) -> None:
        self._prefix = f"{package.__name__}."
        cached = package.__spec__.cached if package.__spec__ else None
        self._suffix = (cached or "").rpartition("__init__")[2]
        """E.g. ``.cpython-311.pyc``."""
        self._listings: dict[str, frozenset[str]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where it is, with its code; nothing if Python had better look itself."""
        if not name.startswith(self._prefix) or path is None or len(path) != 1:
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
        if (names := self._listings.get(folder)) is None:
            try:
                names = frozenset(os.listdir(folder))  # noqa: PTH208
            except OSError:  # inside an archive
                names = frozenset()
            self._listings[folder] = names
        return names


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
    """The code of a source file, if it is compiled and neither was changed nor moved since."""
    try:
        written = os.stat(source)  # noqa: PTH116
        data = _content(cached)
    except OSError:  # not there
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
