"""Packages that need different versions of a module."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi.coding.extension_host.discovery.finding import IMPORT_ROOTS
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.loading.modules import add_import_root


@pytest.fixture(autouse=True)
def path_as_before() -> Iterator[None]:
    """Restore the state of the import system."""
    before, roots = [*sys.path], {*IMPORT_ROOTS}
    yield
    sys.path[:] = before
    IMPORT_ROOTS.clear()
    IMPORT_ROOTS.update(roots)


def installed(root: Path, **versions: str) -> Path:
    """A folder with distributions, each with one module of the same name, and with tests."""
    for name, version in versions.items():
        files = (f"{name}/__init__.py", "tests/__init__.py")
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text("")
        metadata = root / f"{name}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    return root


def test_packages_can_depend_on_the_same_version_of_a_module(tmp_path: Path) -> None:
    first = installed(tmp_path / "a", pi_tips_one="1", pi_tips_same="1")
    second = installed(tmp_path / "b", pi_tips_two="1", pi_tips_same="1")

    for root in (first, second, first):
        add_import_root(root)

    assert sys.path[-2:] == [str(first), str(second)]


def test_a_package_that_needs_another_version_is_refused(tmp_path: Path) -> None:
    first = installed(tmp_path / "a", pi_tips_same="1")
    add_import_root(first)

    with pytest.raises(ExtensionError) as caught:
        add_import_root(installed(tmp_path / "b", pi_tips_same="2"))

    assert caught.value.message == (
        "It needs the module pi_tips_same of pi_tips_same-2, but another version is in use:"
        f" {first / 'pi_tips_same' / '__init__.py'}."
    )
    assert sys.path[-1] == str(first)


def test_a_package_with_another_version_of_a_module_of_pi_is_accepted(tmp_path: Path) -> None:
    root = installed(tmp_path / "a", msgspec="0.1")

    add_import_root(root)

    assert sys.path[-1] == str(root)
