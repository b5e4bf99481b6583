"""The editor, as extensions may use and replace it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from pi.coding.extension_host.drawing import Drawable, Make, made
from pi.modes.interactive.extensions.completing import Completing
from pi.modes.interactive.extensions.foreign_editor import ForeignEditor
from pi.modes.interactive.frame import Frame
from pi.tui.input_pump import InputDecision, KeyListeners


class Editing:
    """What is written, who writes it, and who sees the keys first.

    ``given`` is what an editor of an extension is made of, ``tell`` says in a line what failed.
    """

    def __init__(
        self,
        frame: Frame,
        given: tuple[object, ...],
        tell: Callable[[str], None],
    ) -> None:
        self._frame = frame
        self._given = given
        self._tell = tell
        self._editor: ForeignEditor | None = None
        self.completing = Completing(
            lambda problem: tell(f"Completions of an extension failed: {problem!r}")
        )
        frame.composer.offer(self.completing)
        self._listeners = KeyListeners()
        frame.tui.add_input_listener(self._hear, first=True)

    @property
    def component(self) -> Drawable | None:
        """The editor that an extension has brought."""
        return None if self._editor is None else self._editor.component

    @property
    def text(self) -> str:
        """What is written."""
        return self._frame.composer.text

    def set_text(self, text: str) -> None:
        """Replace what is written."""
        self._frame.composer.set_text(text)
        self._frame.tui.request_render()

    def paste(self, text: str) -> None:
        """Insert text at the cursor."""
        self._frame.composer.insert(text)
        self._frame.tui.request_render()

    def use(self, make: Make | None) -> None:
        """Write with another editor; ``None`` brings the usual one back. The text is kept."""
        editor = None
        if make is not None:
            editor = ForeignEditor(made(make, *self._given), self._broken)
        self._editor = editor
        self._frame.composer.use(editor)
        self._frame.tui.request_render()

    def listen(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """Show every key to ``listener`` first; gives what ends that."""
        return self._listeners.add(lambda data: as_decision(listener(data)))

    def _hear(self, data: str) -> InputDecision:
        left = self._listeners.filtered(data)
        return InputDecision(consume=left is None, data=left)

    def _broken(self, problem: Exception) -> None:
        # Not at once: a frame may be about to be painted, with this editor in it.
        asyncio.get_running_loop().call_soon(self._give_up, problem)

    def _give_up(self, problem: Exception) -> None:
        if self._editor is not None:
            self.use(None)
            self._tell(f"The editor of an extension failed: {problem!r}")


def as_decision(answer: Any) -> InputDecision | None:
    """What a listener decided: a record, or a dict with ``consume`` or ``data``."""
    if isinstance(answer, Mapping):
        return InputDecision(consume=bool(answer.get("consume")), data=answer.get("data"))
    return answer if isinstance(answer, InputDecision) else None
