from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.coding.extension_host.discovery.finding import Candidate, explicit
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.loading.modules import (
    factory_of,
    forget_modules,
    module_name,
    module_of,
)
from pi.coding.resources.sources import SourceInfo


def candidate(path: Path) -> Candidate:
    (only,) = explicit([str(path)], path.parent, list[str]().append).candidates
    return only


def test_a_module_is_imported_once_until_it_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("def extension(pi): ...\n")
    one = candidate(path)

    first = factory_of(one)
    assert factory_of(one) is first

    forget_modules(one)
    assert module_name(path) not in sys.modules
    assert factory_of(one) is not first
    forget_modules(one)


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text(f"def extension(pi): return {folder!r}\n")
    both = [candidate(tmp_path / folder / "x.py") for folder in ("a", "b")]

    assert [factory_of(extension)(None) for extension in both] == ["a", "b"]
    for extension in both:
        forget_modules(extension)


def test_a_package_may_import_its_own_modules(tmp_path: Path) -> None:
    package = tmp_path / "kit"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import extension\n")
    (package / "inner.py").write_text("def extension(pi): return 'inner'\n")
    one = candidate(package)

    assert factory_of(one)(None) == "inner"
    forget_modules(one)
    assert not [name for name in sys.modules if name.startswith(module_name(package))]


@pytest.mark.behaviour("failed-factory-leaves-nothing")
@pytest.mark.parametrize("text", ["def extension(", "import nothing_like_this", "raise SystemExit"])
def test_a_module_that_cannot_be_imported_leaves_nothing_behind(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.py"
    path.write_text(text)

    with pytest.raises((SyntaxError, ImportError, SystemExit)):
        factory_of(candidate(path))

    assert module_name(path) not in sys.modules


def test_a_file_without_an_extension_function_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("extension = 3\n")

    with pytest.raises(ExtensionError) as failed:
        factory_of(candidate(path))

    assert failed.value.explain() == (
        f"{path} has no function extension(pi). Write `def extension(pi): ...` in it."
    )
    forget_modules(candidate(path))


def test_an_installed_extension_is_imported_by_its_entry_point() -> None:
    source = SourceInfo(path="<x>")
    one = Candidate(name="x", rank="package", source=source, target="json:dumps")

    assert factory_of(one)([1]) == "[1]"
    forget_modules(one)
    assert "json" in sys.modules


def test_module_of_returns_the_module_name_of_an_extension(tmp_path: Path) -> None:
    source = SourceInfo(path="x")
    path = tmp_path / "kit/weather/forecast.py"
    made = [
        Candidate(name="x", rank="user", source=source, **how)
        for how in (
            {"path": path},
            {"path": path, "import_root": tmp_path / "kit"},
            {"target": "weather_kit.main:extension"},
            {"factory": candidate},
        )
    ]

    names = [module_of(extension) for extension in made]
    assert names == [module_name(path), "weather", "weather_kit.main", __name__]
