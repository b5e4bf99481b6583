"""Instructions of a project and of the directories above it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources.instructions import ContextFiles, InstructionSearch, find_context_files


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "project"
    folder.mkdir(parents=True)
    (tmp_path / "agent").mkdir()
    return folder


def found(cwd: Path, *, trusted: tuple[Path, ...] | None = None) -> ContextFiles:
    warnings: list[str] = []
    search = InstructionSearch(
        cwd=cwd,
        agent_dir=cwd.parent.parent / "agent",
        home=cwd.parent.parent,
        trusts=lambda folder: trusted is None or folder in trusted,
    )
    files = find_context_files(search, warnings.append)
    assert warnings == []
    return files


def test_context_files_are_ordered_from_the_most_general_to_the_nearest(cwd: Path) -> None:
    for folder in (cwd.parent.parent / "agent", cwd.parent, cwd):
        (folder / "AGENTS.md").write_text(folder.name)

    assert [file.content for file in found(cwd).files] == ["agent", "work", "project"]


def test_only_trusted_directories_are_read(cwd: Path) -> None:
    (cwd.parent / "AGENTS.md").write_text("above")
    (cwd / "CLAUDE.md").write_text("here")
    files = found(cwd, trusted=(cwd,))

    assert [file.content for file in files.files] == ["here"]


@pytest.mark.behaviour("context-files-load-once")
def test_a_file_that_is_reached_twice_is_read_once(cwd: Path) -> None:
    (cwd.parent / "AGENTS.md").write_text("one")
    (cwd / "AGENTS.md").symlink_to(cwd.parent / "AGENTS.md")

    assert len(found(cwd).files) == 1


@pytest.mark.behaviour("context-files-load-once")
def test_the_search_ends_at_the_root_directory() -> None:
    search = InstructionSearch(
        cwd=Path("/"), agent_dir=Path("/nowhere"), home=Path("/none"), trusts=lambda folder: False
    )
    files = find_context_files(search, lambda text: None)

    assert files.files == ()


def test_an_unreadable_file_is_a_warning(cwd: Path) -> None:
    (cwd / "AGENTS.md").write_bytes(b"\xff")
    warnings: list[str] = []
    search = InstructionSearch(cwd=cwd, agent_dir=cwd, home=cwd, trusts=lambda folder: True)
    find_context_files(search, warnings.append)

    assert warnings == [f"Could not read {cwd / 'AGENTS.md'}: the file is not UTF-8 text"]
