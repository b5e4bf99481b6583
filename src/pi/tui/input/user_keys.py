"""The contents of ``keybindings.json``: checked, with names of earlier versions translated."""

from __future__ import annotations

from typing import Any

from pi.base.records import Record
from pi.tui.input.keymap import Bindings
from pi.tui.input.keys import canonical


class UserKeys(Record):
    """What a file of keybindings says, and what is wrong with it."""

    bindings: Bindings
    problems: tuple[str, ...] = ()


def read_user_keys(document: Any) -> UserKeys:
    """The bindings in a parsed file. What is not understood is reported and left out."""
    if not isinstance(document, dict):
        return UserKeys(bindings={}, problems=("keybindings.json must hold an object.",))
    bindings: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for action, value in migrated(document).items():
        keys = [value] if isinstance(value, str) else value
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            problems.append(f'keybindings.json: "{action}" must be a key or a list of keys.')
            continue
        for unknown in (key for key in keys if canonical(key) is None):
            problems.append(
                f'keybindings.json: "{action}" names the key "{unknown}", which does not exist; '
                'write it like "ctrl+shift+x".'
            )
        known = tuple(key for key in keys if canonical(key))
        if known or not keys:  # only slips: better the defaults than no key at all
            bindings[action] = known
    return UserKeys(bindings=bindings, problems=tuple(problems))


def migrated(document: dict[str, Any]) -> dict[str, Any]:
    """The document with today's names; of an action named both ways the new name counts."""
    renamed = {LEGACY.get(name, name): value for name, value in document.items() if name in LEGACY}
    return renamed | {name: value for name, value in document.items() if name not in LEGACY}


def _legacy() -> dict[str, str]:
    names = {
        "tui.editor": "cursorUp cursorDown cursorLeft cursorRight cursorWordLeft cursorWordRight "
        "cursorLineStart cursorLineEnd jumpForward jumpBackward pageUp pageDown "
        "deleteCharBackward deleteCharForward deleteWordBackward deleteWordForward "
        "deleteToLineStart deleteToLineEnd yank yankPop undo",
        "tui.input": "newLine submit tab copy",
        "app": "interrupt clear exit suspend",
        "app.message": "followUp dequeue",
        "app.clipboard": "pasteImage",
        "app.session": "tree fork resume",
    }
    return {name: f"{prefix}.{name}" for prefix, all_ in names.items() for name in all_.split()} | {
        "selectUp": "tui.select.up",
        "selectDown": "tui.select.down",
        "selectPageUp": "tui.select.pageUp",
        "selectPageDown": "tui.select.pageDown",
        "selectConfirm": "tui.select.confirm",
        "selectCancel": "tui.select.cancel",
        "cycleThinkingLevel": "app.thinking.cycle",
        "toggleThinking": "app.thinking.toggle",
        "cycleModelForward": "app.model.cycleForward",
        "cycleModelBackward": "app.model.cycleBackward",
        "selectModel": "app.model.select",
        "expandTools": "app.tools.expand",
        "externalEditor": "app.editor.external",
        "newSession": "app.session.new",
        "toggleSessionNamedFilter": "app.session.toggleNamedFilter",
        "toggleSessionPath": "app.session.togglePath",
        "toggleSessionSort": "app.session.toggleSort",
        "renameSession": "app.session.rename",
        "deleteSession": "app.session.delete",
        "deleteSessionNoninvasive": "app.session.deleteNoninvasive",
        "treeFoldOrUp": "app.tree.foldOrUp",
        "treeUnfoldOrDown": "app.tree.unfoldOrDown",
    }


LEGACY = _legacy()
"""Action ids by the flat names of earlier versions."""
