from __future__ import annotations

from pathlib import Path

from pi.coding.extension_host.discovery.finding import (
    FoundExtensions,
    explicit,
    find_candidates,
    inline,
)
from pi.coding.resources.discovery import Selection
from pi.coding.resources.sources import Place, SourceInfo
from tests.coding.files.unprivileged import locked_folder

CODE = "def extension(pi): ...\n"


def no_warning(text: str) -> None:
    raise AssertionError(text)


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CODE)


def test_files_and_packages_of_a_folder_are_extensions(tmp_path: Path) -> None:
    write(tmp_path, "b.py", "a/__init__.py", "_private.py", "empty/notes.txt", ".hidden.py")

    extensions = find_candidates([Place(path=tmp_path)], "user", no_warning)

    assert [candidate.name for candidate in extensions.candidates] == ["a", "b"]
    assert extensions.candidates[1].source == SourceInfo(
        path=str(tmp_path / "b.py"), base_dir=str(tmp_path)
    )


def test_the_manifest_of_a_folder_can_list_its_extensions(tmp_path: Path) -> None:
    write(tmp_path, "kit/src/one.py", "kit/src/two.py", "kit/other.py")
    (tmp_path / "kit" / "pi.toml").write_text('extensions = ["src/*.py"]')

    extensions = find_candidates([Place(path=tmp_path)], "user", no_warning)

    assert [candidate.name for candidate in extensions.candidates] == ["one", "two"]


def test_extensions_for_the_original_pi_are_listed_without_a_warning(tmp_path: Path) -> None:
    write(tmp_path, "old.ts", "older/index.js", "new.py")

    extensions = find_candidates([Place(path=tmp_path)], "user", no_warning)

    assert [candidate.name for candidate in extensions.candidates] == ["new"]
    assert extensions.foreign == (str(tmp_path / "old.ts"), str(tmp_path / "older/index.js"))


def test_the_same_file_under_two_names_is_one_extension(tmp_path: Path) -> None:
    write(tmp_path, "a/x.py")
    (tmp_path / "link.py").symlink_to(tmp_path / "a/x.py")
    warnings: list[str] = []

    extensions = explicit(["a/x.py", "link.py", "a"], tmp_path, warnings.append)

    assert [candidate.path for candidate in extensions.candidates] == [tmp_path / "a/x.py"]
    assert extensions.candidates[0].source == SourceInfo(
        path=str(tmp_path / "a/x.py"), source="cli", scope="temporary"
    )
    assert warnings == []


def test_a_named_extension_that_is_missing_causes_a_warning(tmp_path: Path) -> None:
    warnings: list[str] = []

    explicit(["nope.py"], tmp_path, warnings.append)
    find_candidates([Place(path=tmp_path / "extensions")], "user", warnings.append)

    assert warnings == [f"Extension {tmp_path / 'nope.py'} does not exist."]


def test_a_pattern_can_exclude_extensions(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b.py", "b.ts")
    listed = Selection.of(["!b*"], tmp_path)

    extensions = find_candidates([Place(path=tmp_path)], "user", no_warning, listed)

    assert [candidate.name for candidate in extensions.candidates] == ["a"]
    assert extensions.foreign == ()


def test_inline_extensions_have_distinct_names() -> None:
    def mine(pi: object) -> None: ...

    candidates = list(inline([mine, mine]))

    assert [candidate.identifier for candidate in candidates] == [
        "<inline:1:mine>",
        "<inline:2:mine>",
    ]
    assert candidates[0].factory is mine


def test_a_folder_with_a_broken_manifest_is_reported_and_skipped(tmp_path: Path) -> None:
    write(tmp_path, "good.py")
    for name, text in {
        "a/pi.toml": "x = [",
        "b/pyproject.toml": "\xff",
        "c/pyproject.toml": "tool = 3",
        "d/pi.toml": 'extensions = ["/absolute/*.py"]',
        "e/package.json": "{bad",
    }.items():
        write(tmp_path, name)
        (tmp_path / name).write_text(text, encoding="latin-1")
    warnings: list[str] = []

    extensions = find_candidates([Place(path=tmp_path)], "user", warnings.append)

    assert [candidate.name for candidate in extensions.candidates] == ["good"]
    assert [warning.split(tmp_path.name)[1][:3] for warning in warnings] == [
        "/a/",
        "/b/",
        "/d:",
        "/e/",
    ]


def test_extensions_in_a_package_json_are_listed_as_foreign(tmp_path: Path) -> None:
    write(tmp_path, "kit/src/main.ts", "kit/package.json")
    (tmp_path / "kit" / "package.json").write_text('{"pi": {"extensions": ["./src/main.ts"]}}')

    extensions = find_candidates([Place(path=tmp_path)], "user", no_warning)

    assert extensions == FoundExtensions(foreign=(str(tmp_path / "kit" / "src" / "main.ts"),))


def test_an_unreadable_folder_does_not_hide_other_extensions() -> None:
    with locked_folder() as locked:
        write(locked.parent, "open.py")

        roots = [Place(path=path) for path in (locked.parent, locked, locked / "extensions")]
        extensions = find_candidates(roots, "user", no_warning)

    assert [candidate.name for candidate in extensions.candidates] == ["open"]
