"""Notes across sessions: files that the user can edit, searched by words, stored on request."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.base.errors import PiError
from pi.batteries.memory.adapter import (
    MAX_LISTED,
    MAX_TEXT,
    Note,
    Notes,
    extension,
    index_text,
    search,
)
from pi.coding.runtime.options import ToolFilter
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)

ON: dict[str, Any] = {"memories": {"enabled": True}}


def notes_in(tmp_path: Path) -> Notes:
    folders = {"project": tmp_path / "project", "user": tmp_path / "user"}
    for folder in folders.values():
        folder.mkdir(parents=True)
    return Notes(folders)  # type: ignore[arg-type]


def results(hosted: ExtensionFixture) -> list[str]:
    return [m.text for m in hosted.session.messages if isinstance(m, ToolResultMessage)]


def stored(hosted: ExtensionFixture) -> list[Path]:
    return sorted(hosted.fixture.agent_dir.glob("extension-data/*/**/*.md"))


# Files and search ---------------------------------------------------------------------------------


def test_a_note_is_a_markdown_file_that_the_user_can_edit(tmp_path: Path) -> None:
    notes = notes_in(tmp_path)
    note = notes.write("project", "Use `make lint` before a commit.", "Linting")

    assert note.path.read_text() == "# Linting\n\nUse `make lint` before a commit.\n"
    note.path.write_text("# Linting, new\n\nUse `ruff`.\n")
    (edited,) = notes.all()
    assert (edited.title, edited.text) == ("Linting, new", "Use `ruff`.")
    (tmp_path / "user" / "own.md").write_text("no heading, but a note\n")
    assert [note.title for note in notes.all()] == ["Linting, new", "no heading, but a note"]
    notes.forget(edited)
    assert not note.path.exists()


def test_a_note_is_not_overwritten_without_replace(tmp_path: Path) -> None:
    notes = notes_in(tmp_path)
    first = notes.write("user", "one", "Same")
    with pytest.raises(PiError, match="already"):
        notes.write("user", "two", "Same")
    assert notes.write("project", "three", "Same").path != first.path
    notes.write("user", "four", "Same", replace=True)
    assert notes.find("same").text in ("three", "four")
    assert "four" in first.path.read_text()


@pytest.mark.parametrize("text", ["", "  \n", "x" * (MAX_TEXT + 1)])
def test_empty_and_huge_notes_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(PiError):
        notes_in(tmp_path).write("user", text)


def test_titles_cannot_leave_the_folder(tmp_path: Path) -> None:
    notes = notes_in(tmp_path)
    for title in ("../../evil", "/etc/passwd", "\x1b]0;x\x07", "Ä ö", "…"):
        path = notes.write("user", "text", title).path
        assert path.parent == tmp_path / "user"
        assert path.name.isascii()


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("deploying", ["Deploy"]),  # word forms
        ("cafe", ["Café"]),  # accents
        ("NOT OR \" ' *", []),
        ("data", ["Database", "Deploy"]),  # beginnings; a title counts more
        ("", []),
    ],
)
def test_notes_are_searched_by_words(tmp_path: Path, query: str, titles: list[str]) -> None:
    texts = {
        "Deploy": "We deploy with the data pipeline.",
        "Café": "The café is closed.",
        "Database": "Postgres, port 5433.",
    }
    notes = [
        Note(scope="user", path=tmp_path / name, title=name, text=text)
        for name, text in texts.items()
    ]
    assert [note.title for note in search(notes, query, 5)] == titles


def test_the_index_is_short() -> None:
    notes = [Note(scope="user", path=Path(f"{n}.md"), title=f"T{n}", text="") for n in range(90)]
    index = index_text(notes)
    assert index.endswith("- and 50 more")
    assert len(index.splitlines()) == MAX_LISTED + 4
    assert index_text([]) == ""


# Sessions -----------------------------------------------------------------------------------------


async def test_off_by_default_and_on_by_setting_or_by_name(tmp_path: Path) -> None:
    async with extension_session(tmp_path / "a", extension) as hosted:
        assert {"remember", "recall"}.isdisjoint(hosted.session.tools.active_names)
        assert "Memory" not in str(hosted.session.prompts.sections())
    async with extension_session(tmp_path / "b", extension, settings=ON) as hosted:
        assert {"remember", "recall"} <= {*hosted.session.tools.active_names}
    only = ToolFilter(only=("read", "recall"))
    async with extension_session(tmp_path / "c", extension, tools=only) as hosted:
        assert hosted.session.tools.active_names == ("read", "recall")


async def test_a_note_is_recalled_in_a_later_session(tmp_path: Path) -> None:
    ui = FakeUI()
    written = calls("remember", note="Tests need `--seed 7`.", title="Running tests")
    steps = (written, says("noted"))
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        before = str(hosted.session.prompts.sections())
        await hosted.session.prompt("remember how tests run")

        assert str(hosted.session.prompts.sections()) == before  # the cache stays valid
        assert ("notify", "Remembered: Running tests (/memory)") in ui.seen
        assert not list(hosted.fixture.cwd.rglob("*.md"))  # nothing in the project
        assert stored(hosted)[0].stat().st_mode & 0o077 == 0

    later = (calls("recall", query="seed for tests"), calls("recall", query="xyzzy"), says("ok"))
    async with extension_session(tmp_path, extension, steps=later, settings=ON) as hosted:
        assert "- Running tests (project)" in str(hosted.session.prompts.sections())
        await hosted.session.prompt("how do tests run?")

        recalled, none = results(hosted)
        assert "--seed 7" in recalled
        assert none == "No note matches."
        assert hosted.failures == []


async def test_other_projects_see_only_notes_of_the_user(tmp_path: Path) -> None:
    async with extension_session(tmp_path, extension, settings=ON) as hosted:
        await hosted.session.prompt("/remember here only")
        await hosted.session.prompt("/remember --user everywhere")

    (tmp_path / "home" / "other").mkdir()
    other = tmp_path / "home" / "other"
    async with extension_session(tmp_path, extension, settings=ON, cwd=other) as hosted:
        index = str(hosted.session.prompts.sections())
        assert "everywhere (user)" in index
        assert "here only" not in index


@pytest.mark.behaviour("dumps-carry-no-keys")
async def test_secrets_are_redacted_from_notes(tmp_path: Path) -> None:
    key = "sk-" + os.urandom(16).hex()
    steps = (calls("remember", note=f"The key is {key}", title=f"Key {key}"), says("ok"))
    async with extension_session(tmp_path, extension, steps=steps, settings=ON) as hosted:
        await hosted.session.prompt("remember the key")
        await hosted.session.prompt(f"/remember my key: {key}")

        texts = [path.name + path.read_text() for path in stored(hosted)]
        assert len(texts) == 2
        assert key not in "".join(texts)


async def test_nothing_is_stored_without_a_request(tmp_path: Path) -> None:
    settings = {**ON, "compaction": {"keepRecentTokens": 500}}
    steps = (says("w" * 9000), says("w" * 9000), says("summary"), says("summary"))
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        await hosted.session.prompt("always write tests first")
        await hosted.session.prompt("and never forget it")
        await hosted.session.compact()

        assert stored(hosted) == []


async def test_a_summary_request_contains_the_notes(tmp_path: Path) -> None:
    settings = {**ON, "compaction": {"keepRecentTokens": 500}}
    steps = (says("w" * 9000), says("w" * 9000), says("summary"), says("summary"))
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        await hosted.session.prompt("/remember Dates are written as 2026-11-16")
        await hosted.session.prompt("one")
        await hosted.session.prompt("two")
        await hosted.session.compact()

        assert "Dates are written as" in str(hosted.fixture.provider.requests[2].messages)


class MemoryUI(FakeUI):
    """A user with answers for the screen."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = [*answers]
        self.edited = ""
        self.described: dict[str, str] = {}

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        """The next answer, which is one of the options."""
        answer = self.answers.pop(0) if self.answers else None
        labels = [option if isinstance(option, str) else option.label for option in options]
        self.described |= {
            option.label: option.description for option in options if option not in labels
        }
        assert answer is None or answer in labels, labels
        return answer

    async def editor(self, title: str, prefill: str = "", **how: Any) -> str | None:
        """Replaces the text."""
        self.edited = prefill
        return prefill.replace("old", "new")


async def test_notes_are_edited_and_deleted_on_the_screen(tmp_path: Path) -> None:
    ui = MemoryUI("project: An old note", "Edit", "project: An new note", "Forget", None)
    async with extension_session(tmp_path, extension, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("/remember An old note")
        await hosted.session.prompt("/memory")

        assert ui.edited.startswith("# An old note")
        assert stored(hosted) == []
        assert ("notify", "Forgotten: An new note") in ui.seen
        assert ui.answers in ([], [None])


async def test_the_list_does_not_repeat_titles(tmp_path: Path) -> None:
    ui = MemoryUI()
    async with extension_session(tmp_path, extension, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("/remember Tiles are red")
        await hosted.session.prompt("/remember Doors\n\nare green, always.")
        await hosted.session.prompt("/memory")

        described = {"project: Tiles are red": "", "project: Doors": "are green, always."}
        assert ui.described == described


async def test_deleting_a_note_needs_confirmation(tmp_path: Path) -> None:
    ui = MemoryUI("project: keep me", "Forget", None)
    ui.agrees = False
    async with extension_session(tmp_path, extension, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("/remember keep me")
        await hosted.session.prompt("/memory")

        assert len(stored(hosted)) == 1
