"""Events of dialogs, and of terminals that commands of the model run in."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pi.base.records import Record
from pi.coding.bus import Event
from pi.coding.port.ui import Option

DialogKind: TypeAlias = Literal["select", "confirm", "input", "editor", "custom"]


class TerminalOpenedEvent(Record, tag="terminal_opened"):
    """A command of the model is about to start in a terminal.

    ``terminal`` sends keys (``send``), changes the size (``resize``) and forwards the output of the
    program (``on_output``).
    """

    call_id: str
    terminal: Any


class UiPromptStartEvent(Event):
    """A dialog is about to open; ``ctx.ui.answer(event.id, value)`` answers it from other code."""

    kind: DialogKind
    title: str = ""
    reason: Literal["ui_prompt"] = "ui_prompt"
    id: str = ""
    """Identifies the dialog while it is open."""
    message: str = ""
    """The text below the title of a confirmation."""
    options: tuple[Option, ...] = ()
    """The options of a selection."""
    multi: bool = False
    """Whether several options can be selected."""
    initial: tuple[str, ...] = ()
    """The labels that are selected initially."""
    placeholder: str = ""
    prefill: str = ""
    """The initial text of an editor."""
    secret: bool = False
    """Whether the answer is a secret: do not forward the dialog."""
    with_guests: bool = False
    """Whether guests of a shared session may see and answer it (``ctx.ui.with_guests``)."""


class UiPromptEndEvent(Event):
    """A dialog has closed."""

    kind: DialogKind
    title: str = ""
    reason: Literal["ui_prompt"] = "ui_prompt"
    id: str = ""
    """The id of its ``UiPromptStartEvent``."""
