from __future__ import annotations

import importlib
import inspect
import os
import py_compile
import sys
import zipfile
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

import pytest

from pi.cli.quick_imports import quick_imports

PACKAGE = "quickly_imported"
MODULE = f"{PACKAGE}.inner.leaf"
SOURCE = "def says():\n    return 'first'\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package in a package, both compiled, that can be imported."""
    inner = tmp_path / PACKAGE / "inner"
    inner.mkdir(parents=True)
    for file in (inner.parent / "__init__.py", inner / "__init__.py", inner / "leaf.py"):
        file.write_text(SOURCE)
        py_compile.compile(str(file), doraise=True)
    monkeypatch.syspath_prepend(tmp_path)
    yield inner.parent
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def imported(name: str = MODULE) -> ModuleType:
    with quick_imports(PACKAGE):
        return importlib.import_module(name)


def facts(spec: ModuleSpec | None) -> tuple[object, ...]:
    assert spec is not None
    search_locations = spec.submodule_search_locations
    located = (
        spec.origin,
        spec.cached,
        spec.has_location,
        search_locations and list(search_locations),
    )
    return spec.name, spec.parent, *located


def is_quick(module: ModuleType) -> bool:
    return type(module.__loader__).__module__ == "pi.cli.quick_imports"


@pytest.mark.parametrize("name", [f"{PACKAGE}.inner", MODULE])
def test_a_quickly_imported_module_equals_the_one_that_python_imports(
    folder: Path, name: str
) -> None:
    module = imported(name)
    parent = sys.modules[name.rpartition(".")[0]]

    assert is_quick(module)
    assert facts(module.__spec__) == facts(PathFinder.find_spec(name, parent.__path__))
    assert module.__file__ == module.says.__code__.co_filename
    assert inspect.getsource(module) == SOURCE
    assert importlib.reload(module).says() == "first"


@pytest.mark.parametrize("text", ["def says():\n    return 'other'\n", SOURCE + "says = len\n"])
def test_a_source_that_has_changed_is_compiled_again(folder: Path, text: str) -> None:
    source = folder / "inner" / "leaf.py"
    later = source.stat().st_mtime + 10
    source.write_text(text)
    os.utime(source, (later, later))

    module = imported()

    assert not is_quick(module)
    assert inspect.getsource(module) == text
    assert module.says.__name__ == ("len" if "len" in text else "says")


def test_a_module_without_bytecode_is_loaded(folder: Path) -> None:
    for compiled in (folder / "inner" / "__pycache__").iterdir():
        compiled.unlink()

    assert imported().says() == "first"


def test_code_of_a_moved_package_has_its_current_file_names(folder: Path) -> None:
    source = folder / "inner" / "leaf.py"
    py_compile.compile(str(source), dfile="/home/ada/leaf.py", doraise=True)

    assert imported().says.__code__.co_filename == str(source)


def test_bytecode_without_source_is_not_a_module(folder: Path) -> None:
    (folder / "inner" / "leaf.py").unlink()

    with pytest.raises(ModuleNotFoundError):
        imported()


def test_modules_in_an_archive_are_imported_by_python(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = folder.parent / "archive.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for file in folder.rglob("*.py"):
            out.write(file, file.relative_to(folder.parent))
    monkeypatch.syspath_prepend(archive)

    module = imported()

    assert str(module.__file__).startswith(f"{archive}{os.sep}")
    assert module.says() == "first"


def test_modules_of_the_standard_library_are_imported_quickly(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = folder / "library"
    names = {
        "colorsys": library / "colorsys.py",
        "wsgiref": library / "wsgiref" / "__init__.py",
        "wsgiref.headers": library / "wsgiref" / "headers.py",
    }
    for name, file in names.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SOURCE)
        py_compile.compile(str(file), doraise=True)
        monkeypatch.delitem(sys.modules, name, raising=False)

    with quick_imports(PACKAGE, library=str(library)):
        modules = [importlib.import_module(name) for name in names]
    for name in names:
        del sys.modules[name]

    assert [module.__file__ for module in modules] == list(map(str, names.values()))
    assert all(map(is_quick, modules))


def test_afterwards_python_finds_modules_as_before(folder: Path) -> None:
    before = list(sys.meta_path)
    imported()

    assert sys.meta_path == before
