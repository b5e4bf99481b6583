from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.packages.contents import is_inside, leads_outside, require_inside, unusable_reason
from pi.coding.packages.source import InstallFailed


@pytest.mark.parametrize(
    "entry", ["/etc", "../x", "a/../../x", "..\\x", "C:\\x", "C:x", "\\\\host\\x", "**/../x"]
)
def test_a_path_outside_the_package_is_detected(entry: str) -> None:
    assert leads_outside(entry)


@pytest.mark.parametrize("entry", ["a", "./a/b", "a..b/c", "**/*.md", ""])
def test_a_path_inside_the_package_is_accepted(entry: str) -> None:
    assert not leads_outside(entry)


@pytest.mark.behaviour("package-installs-are-contained")
def test_links_are_resolved_before_a_path_is_checked(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "out").symlink_to(tmp_path)

    assert is_inside(tmp_path / "root", tmp_path / "root" / "new" / "x")
    assert not is_inside(tmp_path / "root", tmp_path / "root" / "out" / "x")
    require_inside(tmp_path / "root", tmp_path / "root" / "new" / "x")
    with pytest.raises(InstallFailed, match="a link on the way leads out of it"):
        require_inside(tmp_path / "root", tmp_path / "root" / "out" / "x")


def test_a_root_that_is_a_link_itself_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")

    assert is_inside(tmp_path / "root", tmp_path / "root" / "x")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("skills/x", ""),
        ("wörter/*.md", ""),
        ("/etc/passwd", "leads out of the package"),
        ("a/../../b", "leads out of the package"),
        ("a\0b", "holds a control character"),
        ("a\x1b[2J", "holds a control character"),
        ("x" * 255, ""),
        ("x" * 256, "is too long"),
        ("ö" * 128, "is too long"),
        ("a/" * 1001, "is too long"),
        ("\ud800" * 100, "is too long"),
    ],
)
def test_an_unusable_path_is_reported_with_its_reason(entry: str, why: str) -> None:
    assert unusable_reason(entry) == why
