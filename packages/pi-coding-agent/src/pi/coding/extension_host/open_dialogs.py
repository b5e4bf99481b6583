"""Open dialogs of extensions: cancelled with their session, and answered by id from other code."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pi.base.clock import Clock, uuid7
from pi.coding.extension_host.errors import ExtensionError, check_value
from pi.coding.extension_host.events.dialogs import UiPromptStartEvent
from pi.coding.port.ui import Option

T = TypeVar("T")


class OpenDialogs:
    """Open dialogs of one extension; they are cancelled when the session ends."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    async def answer(self, question: Coroutine[Any, Any, T], default: T) -> T:
        """The answer of the user, or ``default`` if the session ends first."""
        dialog = asyncio.ensure_future(question)
        self._open.add(dialog)
        try:
            return await dialog
        except asyncio.CancelledError:
            if dialog in self._open:  # the caller was cancelled, and the dialog with it
                raise
            return default
        finally:
            self._open.discard(dialog)

    def cancel_all(self) -> None:
        """Cancel all open dialogs; they return their defaults."""
        dialogs, self._open = self._open, set()
        for dialog in dialogs:
            dialog.cancel()


class AnswerableDialog:
    """One open dialog: the first answer counts, the user's or one of ``DialogRegistry.answer``."""

    def __init__(self, prompt: UiPromptStartEvent) -> None:
        self.prompt = prompt
        self._answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def answer(self, value: Any) -> bool:
        """Answer the dialog. Returns False if it was answered already.

        Raises ``ExtensionError`` if ``value`` is not a valid answer.
        """
        checked = self._check(value)
        if self._answered.done():
            return False
        self._answered.set_result(checked)
        return True

    async def first_answer(self, ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Show the dialog with ``ask`` until there is an answer, close it, return the answer."""
        if self._answered.done():  # a handler of ``ui_prompt_start`` answered: nothing to show
            return self._answered.result()
        dialog = asyncio.ensure_future(ask())
        try:
            await asyncio.wait({dialog, self._answered}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_open = not dialog.done()
            if is_open:
                dialog.cancel()
                await asyncio.gather(dialog, return_exceptions=True)
        return self._answered.result() if is_open else dialog.result()

    def _check(self, value: Any) -> Any:
        """``value`` as the dialog returns it. Raises ``ExtensionError`` if it is not valid."""
        kind = self.prompt.kind
        if value is None:
            return False if kind == "confirm" else None
        labels = [option.label for option in self.prompt.options]
        match kind, value:
            case "confirm", bool():
                return value
            case "select", [*chosen] if self.prompt.multi:
                return [check_value("an option", label, labels) for label in chosen]
            case "select", str() if not self.prompt.multi:
                return check_value("an option", value, labels)
            case (("input" | "editor"), str()):
                return value
        expected = {
            "confirm": "True or False",
            "select": "a list of labels" if self.prompt.multi else "the label of an option",
            "custom": "None: only its component knows its answers",
        }.get(kind, "a text")
        raise ExtensionError(
            f"A dialog of kind {kind} cannot be answered with {value!r}.", hint=f"Pass {expected}."
        )


class DialogRegistry:
    """The open dialogs of all extensions of a session, by id."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, AnswerableDialog] = {}

    def new_id(self) -> str:
        """An id that is unique across sessions."""
        return uuid7(self._clock.now_ms(), os.urandom)

    @contextmanager
    def opened(self, prompt: UiPromptStartEvent) -> Iterator[AnswerableDialog]:
        """A dialog that can be answered inside the block."""
        dialog = self._open[prompt.id] = AnswerableDialog(prompt)
        try:
            yield dialog
        finally:
            del self._open[prompt.id]

    def answer(self, id: str, value: Any) -> bool:
        """Answer an open dialog. Returns False if it is closed or unknown.

        Raises ``ExtensionError`` for a value that is not a valid answer.
        """
        dialog = self._open.get(id)
        return dialog is not None and dialog.answer(value)


def as_options(options: Iterable[str | Option]) -> tuple[Option, ...]:
    """Options of a dialog as records."""
    return tuple(Option(label=option) if isinstance(option, str) else option for option in options)
