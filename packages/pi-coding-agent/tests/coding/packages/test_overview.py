from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.packages.discovery import Configured, Package
from pi.coding.packages.entries import PackageEntry
from pi.coding.packages.listing import config_lines, list_lines, source_name, update_line
from pi.coding.packages.source import NpmSource
from pi.coding.packages.staging import Outcome


def configured(source: str, root: Path, **more: object) -> Configured:
    entry = PackageEntry(source=source)
    return replace(
        Configured(entry=entry, source=NpmSource(name="x"), scope="user", root=root), **more
    )


def test_an_empty_package_list_is_reported() -> None:
    assert list(list_lines([])) == ["No packages installed."]


def test_packages_are_listed_by_scope(tmp_path: Path) -> None:
    own = configured("npm:x", tmp_path)
    missing = configured("https://u:p@h.dev/o/r\x1b[2J", tmp_path / "gone", scope="project")
    filtered = configured(
        "npm:y", tmp_path, entry=PackageEntry(source="npm:y", filters={"skills": ()})
    )

    assert list(list_lines([missing, own, filtered])) == [
        "User packages:",
        "  npm:x",
        f"    {tmp_path}",
        "  npm:y (filtered)",
        f"    {tmp_path}",
        "Project packages:",
        "  https://h.dev/o/r",
        f"    {tmp_path}/gone (not installed)",
    ]


def test_every_resource_is_listed_with_its_state(tmp_path: Path) -> None:
    package = Package(
        configured=configured("npm:x", tmp_path),
        offered={"skills": ("skills/a.md", "skills/b.md"), "extensions": ("e.ts",)},
        chosen={"skills": ("skills/b.md",), "extensions": ("e.ts",)},
    )
    empty = Package(configured=configured("npm:y", tmp_path), offered={}, chosen={})

    assert list(config_lines([package, empty])) == [
        "npm:x (user)",
        "  [x] extensions e.ts (needs the original)",
        "  [ ] skills     skills/a.md",
        "  [x] skills     skills/b.md",
        "npm:y (user)",
        "  (nothing that pi uses)",
    ]


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Outcome(change="fetched", before="1", after="2"), "Updated npm:x: 1 → 2"),
        (Outcome(change="fetched", after="a" * 40), "Installed npm:x: aaaaaaaaaaaa"),
        (Outcome(change="current", before="1", after="1"), "npm:x is up to date: 1"),
        (Outcome(change="pinned", before="1", after="1"), "Skipped npm:x: pinned at 1"),
        (
            Outcome(change="kept", before="2", after="2"),
            "Kept npm:x: 2 is newer than what can be had",
        ),
        (Outcome(change="in place"), "npm:x is used where it is"),
    ],
)
def test_an_update_is_reported_in_one_line(outcome: Outcome, line: str, tmp_path: Path) -> None:
    assert update_line(configured("npm:x", tmp_path), outcome) == line


def test_a_source_is_shown_without_its_password(tmp_path: Path) -> None:
    assert source_name(configured("https://u:p@h.dev/o/r", tmp_path)) == "https://h.dev/o/r"
