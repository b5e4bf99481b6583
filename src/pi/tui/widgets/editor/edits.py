"""What keys do to a document, as data: the multi-line editor and the single-line field share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pi.tui.widgets.editor import motions
from pi.tui.widgets.editor.document import Document
from pi.tui.widgets.editor.motions import Motion

Do: TypeAlias = Callable[[Document], object]


def _move(motion: Motion) -> Do:
    return lambda document: document.move(motion)


def _delete(motion: Motion) -> Do:
    return lambda document: document.delete(motion)


def _kill(motion: Motion) -> Do:
    return lambda document: document.kill(motion)


EDITS: dict[str, Do] = {
    "tui.editor.cursorLeft": _move(motions.left),
    "tui.editor.cursorRight": _move(motions.right),
    "tui.editor.cursorWordLeft": _move(motions.word_left),
    "tui.editor.cursorWordRight": _move(motions.word_right),
    "tui.editor.cursorLineStart": _move(motions.line_start),
    "tui.editor.cursorLineEnd": _move(motions.line_end),
    "tui.editor.deleteCharBackward": _delete(motions.left),
    "tui.editor.deleteCharForward": _delete(motions.right),
    "tui.editor.deleteWordBackward": _kill(motions.word_left),
    "tui.editor.deleteWordForward": _kill(motions.word_right),
    "tui.editor.deleteToLineStart": _kill(motions.before_line),
    "tui.editor.deleteToLineEnd": _kill(motions.behind_line),
    "tui.editor.yank": Document.yank,
    "tui.editor.yankPop": Document.yank_pop,
    "tui.editor.undo": Document.undo,
    "tui.editor.redo": Document.redo,
}


def edit(document: Document, actions: Sequence[str]) -> str | None:
    """Do the first of the actions that is an edit; says which one it was."""
    for action in actions:
        if do := EDITS.get(action):
            do(document)
            return action
    return None
