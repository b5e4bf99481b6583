from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pi.coding.packages.contents import (
    Distribution,
    installed_distribution,
    is_entry_point,
    module_file,
    modules_in,
)
from pi.coding.packages.source import normal_name
from tests.coding.packages.making import make_package, make_wheel

POINTS = "[console_scripts]\nx = y:z\n\n[pi.extensions]\none = tips.one:extension\ntwo = tips\n"


def test_a_distribution_is_read_from_its_metadata(tmp_path: Path) -> None:
    wheel = make_wheel(
        tmp_path, "My-Tips", "1.0", "tips/skills/x/SKILL.md single.py", entry_points=POINTS
    )
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "site")

    assert installed_distribution(tmp_path / "site", "my-tips") == Distribution(
        name="my-tips",
        version="1.0",
        folders=("tips", "My_Tips"),
        entry_points=("tips.one:extension", "tips"),
    )
    assert installed_distribution(tmp_path / "site", "other") is None
    assert installed_distribution(tmp_path / "nowhere", "my-tips") is None


def test_importable_modules_are_mapped_to_their_distribution(tmp_path: Path) -> None:
    for wheel in (
        make_wheel(tmp_path, "tips", "1.0", "single.py fast.cpython-311.so notes.txt"),
        make_wheel(tmp_path, "more", "2"),
    ):
        with zipfile.ZipFile(wheel) as file:
            file.extractall(tmp_path / "site")

    assert modules_in(tmp_path / "site") == {
        "more": "more-2",
        "single": "tips-1.0",
        "fast": "tips-1.0",
        "tips": "tips-1.0",
    }


@pytest.mark.parametrize("text", ["[pi.extensions", "pi.extensions", "[pi.extensions]\nx"])
def test_invalid_entry_points_are_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "x-1.dist-info").mkdir()
    (tmp_path / "x-1.dist-info" / "entry_points.txt").write_text(text)

    assert installed_distribution(tmp_path, "x") == Distribution(name="x", version="1")


def test_the_file_of_an_entry_point_is_found_without_importing_it(tmp_path: Path) -> None:
    make_package(tmp_path, "pkg/__init__.py pkg/one.py")

    files = [module_file(tmp_path, point) for point in ("pkg:ext", "pkg.one", "pkg.two:ext", ".x")]

    assert files == [tmp_path / "pkg/__init__.py", tmp_path / "pkg/one.py", None, None]


def test_names_are_compared_as_the_index_does() -> None:
    assert normal_name("My_odd..Name") == "my-odd-name"


@pytest.mark.parametrize("text", ["a", "a.b:c", "a : c.d", "a.b:c [extra]", "x" * 252])
def test_an_entry_point_is_a_module_and_perhaps_an_attribute(text: str) -> None:
    assert is_entry_point(text)


@pytest.mark.parametrize(
    "text",
    ["", ":x", "/etc/x", "a/b", "../x", "a..b", ".a", "a\0", "a:b/c", "x" * 253, "a." * 1500],
)
def test_an_invalid_entry_point_has_no_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.py").touch()

    assert not is_entry_point(text)
    assert module_file(tmp_path / "pkg", text) is None


def test_a_module_that_is_a_link_out_of_the_package_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "outside.py").touch()
    (tmp_path / "pkg" / "inner.py").symlink_to("../outside.py")

    assert module_file(tmp_path / "pkg", "inner:x") is None
