from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pi.tui.completion.provider import Suggestion, Suggestions
from pi.tui.completion.sources import FileProvider, PathProvider

FILES = ("src/", "src/main.py", "docs/my notes.md", "README.md")


class Listed:
    """Records which paths were listed and which directories were read."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.folders: list[Path] = []

    async def files(self, query: str) -> Sequence[str]:
        self.queries.append(query)
        return FILES

    def folder(self, path: Path) -> list[str]:
        self.folders.append(path)
        return ["other.txt", "sub/"]

    def provider(self) -> FileProvider:
        return FileProvider(
            self.files, PathProvider(lambda: Path("/w"), Path("/h"), listing=self.folder)
        )


async def suggested(listed: Listed, line: str) -> Suggestions | None:
    return await listed.provider().get_suggestions([line], 0, len(line), force=False)


async def test_a_part_of_a_name_finds_a_file_in_a_subdirectory() -> None:
    listed = Listed()

    assert await suggested(listed, "see @main") == Suggestions(
        items=(Suggestion(value="@src/main.py", label="main.py", description="src"),),
        prefix="@main",
    )
    assert (listed.queries, listed.folders) == (["main"], [])


@pytest.mark.behaviour("paths-complete")
async def test_the_typed_directory_itself_is_not_suggested() -> None:
    found = await suggested(Listed(), "@src/")

    assert found is not None
    assert [item.value for item in found.items] == ["@src/main.py"]


@pytest.mark.behaviour("paths-complete")
async def test_a_path_with_blanks_is_quoted() -> None:
    found = await suggested(Listed(), "@notes")

    assert found is not None
    assert found.items == (
        Suggestion(value='@"docs/my notes.md"', label="my notes.md", description="docs"),
    )


@pytest.mark.behaviour("completion-is-debounced")
@pytest.mark.parametrize(
    ("line", "folder"),
    [("@../o", "/w/.."), ("@/etc/o", "/etc"), ("@~/o", "/h"), ("@a/../../o", "/w/a/../..")],
)
async def test_outside_the_project_only_the_typed_directory_is_read(line: str, folder: str) -> None:
    listed = Listed()
    found = await suggested(listed, line)

    assert found is not None
    assert [item.label for item in found.items] == ["other.txt"]
    assert (listed.queries, listed.folders) == ([], [Path(folder)])


@pytest.mark.parametrize("line", ["", "hello", "me@example", "@zzz"])
async def test_there_are_no_suggestions_without_a_mention_or_a_match(line: str) -> None:
    assert await suggested(Listed(), line) is None


async def test_a_directory_is_suggested_with_a_trailing_slash() -> None:
    found = await suggested(Listed(), "@src")

    assert found is not None
    assert found.items[0] == Suggestion(value="@src/", label="src/", description="")


@pytest.mark.behaviour("completion-is-debounced")
async def test_searching_a_large_project_does_not_block_the_event_loop() -> None:
    searched = asyncio.Event()
    typed_meanwhile = 0

    async def files(query: str) -> Sequence[str]:
        return [f"src/file{number:05}.py" for number in range(20_000)]

    async def type_on() -> None:
        nonlocal typed_meanwhile
        while not searched.is_set():
            typed_meanwhile += 1
            await asyncio.sleep(0)

    typing = asyncio.create_task(type_on())
    provider = FileProvider(files, PathProvider(lambda: Path("/w"), Path("/h")))
    found = await provider.get_suggestions(["@file1999"], 0, 9, force=False)
    searched.set()
    await typing

    assert typed_meanwhile > 10
    assert found is not None
    assert [item.label for item in found.items[:2]] == ["file19990.py", "file19991.py"]
