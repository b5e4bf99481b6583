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
from tests.coding.resources.places import make_search
from tests.files import put

NOTES = ResourceKind(name="notes", parse=lambda text, path: text.strip() or None, key=str.lower)


def source(name: str, *paths: Path, priority: int = 0) -> ResourceSource:
    return ResourceSource(kind="notes", name=name, find=lambda _: paths, priority=priority)


def test_the_source_with_the_higher_priority_shadows_the_other(tmp_path: Path) -> None:
    search, warnings = make_search(tmp_path), list[str]()
    low, high = search.agent_dir / "low", search.cwd / "high"
    low.write_text("Tea")
    high.write_text("tea")

    items = load_kind(
        NOTES, [source("a", low), source("b", high, priority=5)], search, warnings.append
    )

    assert items == (
        ResourceItem(key="tea", value="tea", path=high, source="b", scope="project", priority=5),
        ResourceItem(
            key="tea", value="Tea", path=low, source="a", scope="user", priority=0, shadowed=True
        ),
    )
    assert warnings == []


def test_files_of_an_untrusted_project_are_not_read(tmp_path: Path) -> None:
    search = make_search(tmp_path, trusted=False)
    mine, theirs = search.agent_dir / "mine", search.cwd / "theirs"
    mine.write_text("mine")
    theirs.write_text("theirs")

    items = load_kind(NOTES, [source("a", theirs, mine)], search, print)

    assert [item.value for item in items] == ["mine"]


def test_files_above_in_the_same_repository_belong_to_the_project(tmp_path: Path) -> None:
    search = make_search(tmp_path)
    assert search.scope(search.home / "notes") == "user"

    (search.home / ".git").mkdir()

    assert search.project == search.home
    assert search.scope(search.home / "notes") == "project"
    assert search.scope(search.agent_dir / "notes") == "user"


def test_missing_empty_and_invalid_files_are_skipped(tmp_path: Path) -> None:
    search, warnings = make_search(tmp_path), list[str]()
    empty, broken = search.cwd / "empty", search.cwd / "broken"
    empty.write_text("")
    broken.write_bytes(b"\xff")

    items = load_kind(
        NOTES, [source("a", empty, broken, search.cwd / "gone")], search, warnings.append
    )

    assert items == ()
    assert warnings == [f"{broken} was not used as one of the notes: the file is not UTF-8 text"]


def test_a_kind_may_refuse_a_file(tmp_path: Path) -> None:
    def parse(text: str, path: Path) -> None:
        raise BadResource("it rhymes")

    search, warnings = make_search(tmp_path), list[str]()
    (search.cwd / "poem").write_text("x")
    kind = ResourceKind(name="notes", parse=parse, key=str)

    assert load_kind(kind, [source("a", search.cwd / "poem")], search, warnings.append) == ()
    assert len(warnings) == 1


def test_resources_in_the_home_folder_are_found_once(tmp_path: Path) -> None:
    search = make_search(tmp_path)
    files = [search.home / ".other/notes/mine", search.cwd / ".other/notes/ours"]
    for file in files:
        put(file, file.name)
    notes = [agent_source("notes", "other", 5, ".other/notes", lambda folder: folder.glob("*"))]
    at_home = replace(search, cwd=search.home)

    loaded = [load_kind(NOTES, notes, folders, print) for folders in (search, at_home)]

    assert [[item.key for item in items] for items in loaded] == [["ours", "mine"], ["mine"]]


def test_a_folder_of_an_untrusted_project_is_not_even_listed(tmp_path: Path) -> None:
    listed: list[Path] = []

    def files(folder: Path) -> list[Path]:
        listed.append(folder)
        return []

    search = make_search(tmp_path, trusted=False)
    load_kind(NOTES, [agent_source("notes", "a", 0, ".a/notes", files)], search, print)

    assert listed == [search.home / ".a/notes"]


def test_resources_of_other_agents_in_the_home_folder_belong_to_the_user(tmp_path: Path) -> None:
    search = make_search(tmp_path, trusted=False)
    at_home = replace(search, cwd=search.home)
    put(search.home / ".a/notes/mine", "mine")
    put(search.home / "project/.a/notes/theirs", "theirs")
    source = agent_source("notes", "a", 0, ".a/notes", lambda folder: list(folder.iterdir()))

    assert [note.value for note in load_kind(NOTES, [source], at_home, print)] == ["mine"]
    assert at_home.scope(search.home / "project/.a/notes/theirs") == "project"
    inside = replace(search, cwd=search.home / ".a")
    assert inside.scope(search.home / ".a/notes/mine") == "project"
