"""SYSTEM.md and APPEND_SYSTEM.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources.discovery import PromptFiles, find_prompt_files
from pi.coding.resources.sources import BadResource
from tests.coding.files.unprivileged import locked_folder


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".pi").mkdir(parents=True)
    (tmp_path / "agent").mkdir()
    for name in ("SYSTEM.md", "APPEND_SYSTEM.md"):
        (folder / ".pi" / name).write_text(f"project {name}")
        (tmp_path / "agent" / name).write_text(f"own {name}")
    return folder


def files(
    cwd: Path, *, trusted: bool = True, system: str | None = None, append: tuple[str, ...] = ()
) -> PromptFiles:
    return find_prompt_files(
        cwd,
        cwd.parent / "agent",
        trusted=(cwd,) if trusted else (),
        system=system,
        append=append,
        warn=lambda text: None,
    )


def test_files_of_a_trusted_project_override_those_of_the_user(cwd: Path) -> None:
    assert files(cwd).system == "project SYSTEM.md"
    assert files(cwd, trusted=False).append == "own APPEND_SYSTEM.md"


def test_the_command_line_overrides_all_files_and_may_name_files(cwd: Path) -> None:
    (cwd / "mine.md").write_text("from a file")
    prompt_files = files(cwd, system="mine.md", append=("one", "mine.md"))

    assert prompt_files == PromptFiles(system="from a file", append="one\n\nfrom a file")


def test_a_long_text_is_not_taken_for_a_file_name(cwd: Path) -> None:
    text = "word " * 5_000

    assert files(cwd, system=text).system == text


def test_an_empty_system_prompt_is_used(cwd: Path) -> None:
    assert files(cwd, system="").system == ""


def test_files_in_a_locked_folder_count_as_missing() -> None:
    with locked_folder() as locked:
        assert (
            find_prompt_files(locked.parent, locked, trusted=[locked.parent], warn=print)
            == PromptFiles()
        )


def test_an_unusable_file_of_the_command_line_is_named_in_the_error(cwd: Path) -> None:
    (cwd / "huge.md").write_text("x" * 1_000_001)

    for options in ({"system": "huge.md"}, {"append": ("huge.md",)}):
        with pytest.raises(BadResource, match=rf"^Cannot read {cwd / 'huge.md'}: it is larger"):
            files(cwd, **options)
