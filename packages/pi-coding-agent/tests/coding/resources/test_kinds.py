from __future__ import annotations

from pathlib import Path

from pi.base.records import replace
from pi.coding.resources.kinds import (
    ResourceItem,
    ResourceKind,
    ResourceSource,
    agent_source,
    load_kind,
)
from pi.coding.resources.sources import BadResource
from tests.coding.resources.places import place
from tests.files import put

NOTES = ResourceKind(name="notes", parse=lambda text, path: text.strip() or None, key=str.lower)


def source(name: str, *paths: Path, priority: int = 0) -> ResourceSource:
    return ResourceSource(kind="notes", name=name, find=lambda _: paths, priority=priority)


def test_the_source_with_the_higher_priority_shadows_the_other(tmp_path: Path) -> None:
    where, warnings = place(tmp_path), list[str]()
    low, high = where.agent_dir / "low", where.cwd / "high"
    low.write_text("Tea")
    high.write_text("tea")

    found = load_kind(
        NOTES, [source("a", low), source("b", high, priority=5)], where, warnings.append
    )

    assert found == (
        ResourceItem(key="tea", value="tea", path=high, source="b", scope="project", priority=5),
        ResourceItem(
            key="tea", value="Tea", path=low, source="a", scope="user", priority=0, shadowed=True
        ),
    )
    assert warnings == []


def test_files_of_an_untrusted_project_are_not_read(tmp_path: Path) -> None:
    where = place(tmp_path, trusted=False)
    mine, theirs = where.agent_dir / "mine", where.cwd / "theirs"
    mine.write_text("mine")
    theirs.write_text("theirs")

    found = load_kind(NOTES, [source("a", theirs, mine)], where, print)

    assert [item.value for item in found] == ["mine"]


def test_files_above_in_the_same_repository_belong_to_the_project(tmp_path: Path) -> None:
    where = place(tmp_path)
    assert where.scope(where.home / "notes") == "user"

    (where.home / ".git").mkdir()

    assert where.project == where.home
    assert where.scope(where.home / "notes") == "project"
    assert where.scope(where.agent_dir / "notes") == "user"


def test_missing_empty_and_invalid_files_are_skipped(tmp_path: Path) -> None:
    where, warnings = place(tmp_path), list[str]()
    empty, broken = where.cwd / "empty", where.cwd / "broken"
    empty.write_text("")
    broken.write_bytes(b"\xff")

    found = load_kind(
        NOTES, [source("a", empty, broken, where.cwd / "gone")], where, warnings.append
    )

    assert found == ()
    assert warnings == [f"{broken} was not used as one of the notes: the file is not UTF-8 text"]


def test_a_kind_may_refuse_a_file(tmp_path: Path) -> None:
    def parse(text: str, path: Path) -> None:
        raise BadResource("it rhymes")

    where, warnings = place(tmp_path), list[str]()
    (where.cwd / "poem").write_text("x")
    kind = ResourceKind(name="notes", parse=parse, key=str)

    assert load_kind(kind, [source("a", where.cwd / "poem")], where, warnings.append) == ()
    assert len(warnings) == 1


def test_resources_in_the_home_folder_are_found_once(tmp_path: Path) -> None:
    where = place(tmp_path)
    files = [where.home / ".other/notes/mine", where.cwd / ".other/notes/ours"]
    for file in files:
        put(file, file.name)
    notes = [agent_source("notes", "other", 5, ".other/notes", lambda folder: folder.glob("*"))]
    at_home = replace(where, cwd=where.home)

    found = [load_kind(NOTES, notes, each, print) for each in (where, at_home)]

    assert [[item.key for item in items] for items in found] == [["ours", "mine"], ["mine"]]


def test_a_folder_of_an_untrusted_project_is_not_even_listed(tmp_path: Path) -> None:
    listed: list[Path] = []

    def files(folder: Path) -> list[Path]:
        listed.append(folder)
        return []

    where = place(tmp_path, trusted=False)
    load_kind(NOTES, [agent_source("notes", "a", 0, ".a/notes", files)], where, print)

    assert listed == [where.home / ".a/notes"]


def test_resources_of_other_agents_in_the_home_folder_belong_to_the_user(tmp_path: Path) -> None:
    where = place(tmp_path, trusted=False)
    at_home = replace(where, cwd=where.home)
    put(where.home / ".a/notes/mine", "mine")
    put(where.home / "project/.a/notes/theirs", "theirs")
    source = agent_source("notes", "a", 0, ".a/notes", lambda folder: list(folder.iterdir()))

    assert [each.value for each in load_kind(NOTES, [source], at_home, print)] == ["mine"]
    assert at_home.scope(where.home / "project/.a/notes/theirs") == "project"
    inside = replace(where, cwd=where.home / ".a")
    assert inside.scope(where.home / ".a/notes/mine") == "project"
