from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from pi.base.tasks import TaskScope
from pi.tui.completion.provider import Completed, Suggestion, Suggestions, replace_prefix
from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.suggestions import DEBOUNCE, CompletionRequests

FOUND = Suggestions(items=(Suggestion(value="x"),), prefix="@")


class Slow:
    """Responds when the test allows it, and counts the results of requests."""

    trigger_characters = "/@"

    def __init__(self) -> None:
        self.requests: list[tuple[str, bool]] = []
        self.cancelled = 0
        self.go = asyncio.Event()

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        self.requests.append((lines[row][:col], force))
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return FOUND

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        return replace_prefix(lines, row, col, prefix, item.value)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        return True


@pytest.fixture
async def tasks() -> AsyncIterator[TaskScope]:
    async with TaskScope() as scope:
        yield scope


async def settled() -> None:
    """Runs tasks as far as possible without time passing."""
    for _ in range(10):
        await asyncio.sleep(0)


async def no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.mark.behaviour("completion-is-debounced")
async def test_typing_is_debounced(tasks: TaskScope) -> None:
    slow, waits = Slow(), list[float]()
    pause = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await pause.wait()

    completion = CompletionRequests(slow, tasks, sleep)
    for typed in ("@", "@a", "@ab"):
        completion.request([typed], Position(0, len(typed)), lambda found: None)
        await settled()
    assert (waits, slow.requests) == ([DEBOUNCE] * 3, [])
    pause.set()
    await settled()

    assert slow.requests == [("@ab", False)]


@pytest.mark.behaviour("completion-is-debounced")
async def test_an_outdated_request_is_cancelled(
    tasks: TaskScope,
) -> None:
    slow, answers = Slow(), list[str]()
    completion = CompletionRequests(slow, tasks, no_wait)

    completion.request(["@a"], Position(0, 2), lambda found: answers.append("old"))
    await settled()
    completion.request(["@ab"], Position(0, 3), lambda found: answers.append("new"))
    slow.go.set()
    await settled()

    assert (slow.cancelled, answers) == (1, ["new"])


async def test_cancelling_delivers_no_result(tasks: TaskScope) -> None:
    slow, answers = Slow(), list[Suggestions | None]()
    completion = CompletionRequests(slow, tasks, no_wait)
    completion.request(["@"], Position(0, 1), answers.append, force=True)
    await settled()
    completion.cancel()
    slow.go.set()
    await settled()

    assert (slow.requests, answers) == ([("@", True)], [])


@pytest.mark.parametrize(
    ("text", "triggered"),
    [
        ("/", True),
        ("/model son", True),
        ("see /tmp", False),
        ("@", True),
        ("see @src", True),
        ('see @"my fi', True),
        ("see @src and", False),
        ("hello", False),
    ],
)
async def test_only_trigger_characters_request_suggestions(
    tasks: TaskScope, text: str, triggered: bool
) -> None:
    completion = CompletionRequests(Slow(), tasks, no_wait)

    assert completion.is_triggered([text], Position(0, len(text))) is triggered
