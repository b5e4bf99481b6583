from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pi.base.tasks import TaskScope
from pi.tui.completion.provider import Suggestion
from pi.tui.completion.sources import (
    CombinedProvider,
    Command,
    CommandProvider,
    FileProvider,
    PathProvider,
)
from pi.tui.input.keymap import Keymap
from pi.tui.widgets.editor.document import Document
from pi.tui.widgets.editor.suggestions import SuggestionPopup
from pi.tui.widgets.select_list import SelectTheme
from tests.tui.widgets.editor.test_completion import no_wait, settled


async def levels(typed: str) -> list[Suggestion]:
    return [Suggestion(value=word) for word in ("high", "higher") if word.startswith(typed)]


COMMANDS = [
    Command(name="model", description="choose", complete=levels),
    Command(name="new"),
    Command(name="name"),
]


def provider(files: tuple[str, ...] = ("src/main.py", "src/", "notes.txt")) -> CombinedProvider:
    async def list_files(query: str) -> tuple[str, ...]:
        return files

    def listing(folder: Path) -> list[str]:
        return ["main.py", "deep/"] if folder.name == "src" else ["src/", "notes.txt"]

    paths = PathProvider(lambda: Path("/w"), Path("/h"), listing=listing)
    return CombinedProvider(
        [CommandProvider(lambda: COMMANDS), FileProvider(list_files, paths), paths]
    )


@pytest.fixture
async def tasks() -> AsyncIterator[TaskScope]:
    async with TaskScope() as scope:
        yield scope


def run(do: Callable[[], None]) -> None:
    do()


def suggesting(
    tasks: TaskScope | None, text: str, deliver: Callable[[Callable[[], None]], None] = run
) -> tuple[Document, SuggestionPopup]:
    document, keymap = Document(), Keymap()
    document.insert(text)
    found = SuggestionPopup(
        document,
        keymap,
        SelectTheme(),
        tasks=tasks,
        sleep=no_wait,
        deliver=deliver,
        entered=lambda: None,
    )
    found.set_provider(provider())
    return document, found


def press(popup: SuggestionPopup, data: str) -> str:
    return popup.handle_input(data, Keymap().actions(data))


async def test_matching_commands_are_listed(tasks: TaskScope) -> None:
    _, popup = suggesting(tasks, "/n")
    popup.request()
    await settled()

    assert popup.render(30) == ["→ new", "  name"]


async def test_enter_accepts_and_submits_a_command_and_tab_only_accepts_it(
    tasks: TaskScope,
) -> None:
    document, popup = suggesting(tasks, "/mo")
    popup.request()
    await settled()
    assert press(popup, "\t") == "handled"
    assert (document.buffer.text, popup.is_open) == ("/model ", False)

    document, popup = suggesting(tasks, "/mo")
    popup.request()
    await settled()
    assert (press(popup, "\r"), document.buffer.text) == ("submit", "/model ")


@pytest.mark.parametrize(
    ("typed", "outcome", "text"),
    [
        ("/model high", "submit", "/model high"),
        ("/model hig", "handled", "/model high"),
        ("see @notes.txt", "submit", "see @notes.txt"),
        ("see @notes", "handled", "see @notes.txt "),
    ],
)
async def test_enter_submits_a_complete_token_and_otherwise_only_completes_it(
    tasks: TaskScope, typed: str, outcome: str, text: str
) -> None:
    document, popup = suggesting(tasks, typed)
    popup.request()
    await settled()
    assert popup.is_open

    assert (press(popup, "\r"), document.buffer.text, popup.is_open) == (outcome, text, False)


async def test_arrows_move_and_escape_closes(tasks: TaskScope) -> None:
    _, popup = suggesting(tasks, "/n")
    popup.request()
    await settled()

    assert (press(popup, "\x1b[B"), popup.render(30)) == ("handled", ["  new", "→ name"])
    assert (press(popup, "x"), popup.is_open) == ("ignored", True)
    assert (press(popup, "\x1b"), popup.is_open, popup.render(30)) == ("handled", False, [])
    assert press(popup, "\x1b") == "ignored"


@pytest.mark.behaviour("completion-is-debounced")
async def test_a_choice_replaces_only_the_token_before_the_cursor(
    tasks: TaskScope,
) -> None:
    document, popup = suggesting(tasks, "compare @note with @notes.txt")
    for _ in " with @notes.txt":
        document.move(lambda buffer, units: buffer.cursor._replace(col=buffer.cursor.col - 1))
    popup.request()
    await settled()
    press(popup, "\t")

    assert document.buffer.text == "compare @notes.txt  with @notes.txt"
    document.undo()
    assert document.buffer.text == "compare @note with @notes.txt"


@pytest.mark.behaviour("completion-is-debounced")
async def test_a_suggestion_for_an_older_text_is_not_accepted(tasks: TaskScope) -> None:
    document, popup = suggesting(tasks, "/n")
    popup.request()
    await settled()
    document.type("e")

    assert (press(popup, "\r"), document.buffer.text) == ("ignored", "/ne")


async def test_text_without_a_trigger_closes_the_list(tasks: TaskScope) -> None:
    document, popup = suggesting(tasks, "@n")
    popup.request()
    await settled()
    assert popup.is_open
    document.type(" ")
    popup.request()

    assert not popup.is_open


async def test_a_single_completion_is_applied_and_a_directory_is_listed(
    tasks: TaskScope,
) -> None:
    answers: asyncio.Queue[None] = asyncio.Queue()

    def deliver(do: Callable[[], None]) -> None:
        do()
        answers.put_nowait(None)

    document, popup = suggesting(tasks, "cat sr", deliver)
    async with asyncio.timeout(30):
        popup.complete()
        await answers.get()
        assert (document.buffer.text, popup.is_open) == ("cat src/", False)
        await answers.get()

    assert popup.render(20) == ["→ deep/", "  main.py"]


async def test_without_a_task_scope_no_requests_are_sent() -> None:
    _, popup = suggesting(None, "/n")
    popup.request()
    popup.complete()

    assert not popup.is_open
