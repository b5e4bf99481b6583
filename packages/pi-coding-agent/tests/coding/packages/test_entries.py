from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.packages.entries import (
    PackageEntry,
    find_entries,
    read_entries,
    read_entry,
    select,
    toggled,
    with_entry,
)
from pi.coding.packages.source import parse_source

BASE = Path("/srv/agent")
OFFERED = ("skills/a/SKILL.md", "skills/b.md", "skills/odd[1].md")


def test_entries_are_read_and_written_as_they_were() -> None:
    raw: list[object] = [
        "npm:one",
        {
            "source": "npm:two",
            "autoload": False,
            "extensions": ["extensions/*.py", "!extensions/old.py"],
            "skills": [],
        },
    ]

    entries = read_entries(raw)

    assert entries == [
        PackageEntry(source="npm:one"),
        PackageEntry(
            source="npm:two",
            autoload=False,
            filters={"extensions": ("extensions/*.py", "!extensions/old.py"), "skills": ()},
        ),
    ]
    assert [entry.written() for entry in entries] == raw


@pytest.mark.parametrize("raw", [7, None, {}, {"source": 3}, ["npm:x"]])
def test_an_invalid_entry_is_ignored(raw: object) -> None:
    assert read_entry(raw) is None
    assert read_entries([raw, "npm:x"]) == [PackageEntry(source="npm:x")]
    assert read_entries(raw) == ([PackageEntry(source="npm:x")] if raw == ["npm:x"] else [])


def test_an_entry_is_found_by_its_identity_or_by_its_text() -> None:
    raw = ["npm:one@1", 7, {"source": "../pk/x"}, "git:::"]

    def places(text: str) -> list[int]:
        return find_entries(raw, parse_source(text, Path("/here")), text, BASE)

    indexes = [places(text) for text in ("npm:one", "/srv/pk/x", "../pk/x", "npm:two")]

    assert indexes == [[0], [2], [2], []]


def test_an_entry_replaces_all_entries_of_its_package() -> None:
    raw = ["npm:one@1", "npm:two", "npm:one"]

    assert with_entry(raw, PackageEntry(source="npm:one@2"), [0, 2]) == ["npm:one@2", "npm:two"]
    assert with_entry(raw, PackageEntry(source="npm:three"), []) == [*raw, "npm:three"]


def test_unknown_fields_of_an_entry_are_kept() -> None:
    raw = [{"source": "npm:one", "note": "mine"}]

    changed = with_entry(raw, PackageEntry(source="npm:one", filters={"skills": ()}), [0])

    assert changed == [{"source": "npm:one", "skills": [], "note": "mine"}]


SOME = """
    skills/* skills/b.md !skills/b.md !skills/** -skills/b.md +skills/b.md
    -skills +skills -skills/a +skills/a/SKILL.md +elsewhere
"""
FILTERS = st.lists(st.sampled_from(SOME.split()), max_size=4)


@given(
    filters=st.none() | FILTERS,
    path=st.sampled_from(OFFERED),
    on=st.booleans(),
    base=st.sampled_from([None, (), OFFERED[:2]]),
)
def test_a_toggle_switches_one_resource_and_no_other(
    filters: list[str] | None, path: str, on: bool, base: tuple[str, ...] | None
) -> None:
    entry = PackageEntry(
        source="npm:one",
        filters={"prompts": ()} if filters is None else {"prompts": (), "skills": tuple(filters)},
    )

    def chosen(of: PackageEntry) -> set[str]:
        return set(select(OFFERED, of.filters.get("skills"), base=base))

    changed = toggled(entry, "skills", path, OFFERED, on=on, base=base)

    assert chosen(changed) == (chosen(entry) | {path} if on else chosen(entry) - {path})
    assert changed.filters["prompts"] == ()


def test_switching_off_and_on_again_leaves_the_entry_as_it_was() -> None:
    entry, path = PackageEntry(source="npm:one"), OFFERED[1]

    off = toggled(entry, "skills", path, OFFERED, on=False, base=None)

    assert off.written() == {"source": "npm:one", "skills": ["-skills/b.md"]}
    assert toggled(off, "skills", path, OFFERED, on=True, base=None).written() == "npm:one"
