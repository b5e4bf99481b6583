"""Which action a key stands for: the defaults, and what the user made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.base.records import Record
from pi.tui.input.actions import ACTIONS, Action, Place, Platform
from pi.tui.input.keys import canonical, key_names

Bindings = Mapping[str, tuple[str, ...]]
"""Keys by action, as the user wants them; an empty tuple unbinds."""


_SLIPS = {"shift+backspace": "backspace", "shift+delete": "delete"}
"""What is meant by who still holds Shift from the letter before, unless it is bound by itself."""


class Conflict(Record):
    """One key that the user gave to several actions that listen at the same time."""

    key: str
    actions: tuple[str, ...]


class Keymap:
    """Answers what a key does. One is shared by everything on the screen, so a reload reaches all.

    A key that the user gives to an action is taken from the defaults of every action that listens
    where that one does; their other keys stay, and so does the key where the two never meet.
    Naming a default key of an action again takes it from nobody.
    """

    def __init__(
        self,
        user: Bindings | None = None,
        *,
        platform: Platform = "posix",
        actions: Sequence[Action] = ACTIONS,
    ) -> None:
        self._platform = platform
        self._actions = {action.id: action for action in actions}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._by_key: dict[str, tuple[str, ...]] = {}
        self._conflicts: tuple[Conflict, ...] = ()
        self._user: Bindings | None = None
        self.load(user or {})

    def load(self, user: Bindings) -> None:
        """Apply the user's bindings to the defaults. Unknown actions are ignored."""
        if user == self._user:
            return
        claims = self._claims(user)
        keys: dict[str, tuple[str, ...]] = {}
        by_key: dict[str, list[str]] = {}
        for action in self._actions.values():
            if action.id in user:
                keys[action.id] = _canonical(user[action.id])
            else:
                keys[action.id] = tuple(
                    key
                    for key in _canonical(action.keys(self._platform))
                    if not any(_meet(action, other) for other in claims.get(key, ()))
                )
            for key in keys[action.id]:
                by_key.setdefault(key, []).append(action.id)
        self._keys = keys
        self._by_key = {key: tuple(ids) for key, ids in by_key.items()}
        self._conflicts = tuple(_conflicts(claims))
        self._user = dict(user)

    def actions(self, data: str) -> tuple[str, ...]:
        """The actions that a key sequence may start; which of them depends on who listens."""
        names = key_names(data)
        for name in (*names, *(_SLIPS[name] for name in names if name in _SLIPS)):
            if found := self._by_key.get(name):
                return found
        return ()

    def matches(self, data: str, action: str) -> bool:
        """Whether a key sequence starts this action."""
        return action in self.actions(data)

    def bound(self, key: str, place: Place) -> tuple[str, ...]:
        """The actions that a key, by its canonical name, starts in a place."""
        found = (self._actions[id] for id in self._by_key.get(key, ()))
        return tuple(action.id for action in found if action.place in (place, "anywhere"))

    def keys(self, action: str) -> tuple[str, ...]:
        """The keys of an action, for hints; none if it has no keys or does not exist."""
        return self._keys.get(action, ())

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What the user's bindings leave undecided."""
        return self._conflicts

    def _claims(self, user: Bindings) -> dict[str, list[Action]]:
        """The actions to which the user gave each key, beyond their defaults."""
        claims: dict[str, list[Action]] = {}
        for name, keys in user.items():
            if action := self._actions.get(name):
                own = _canonical(action.keys(self._platform))
                for key in _canonical(keys):
                    if key not in own:
                        claims.setdefault(key, []).append(action)
        return claims


def _canonical(keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for name in keys if (key := canonical(name))))


def _meet(action: Action, other: Action) -> bool:
    return action.place == other.place or "anywhere" in (action.place, other.place)


def _conflicts(claims: Mapping[str, Sequence[Action]]) -> list[Conflict]:
    return [
        Conflict(key=key, actions=tuple(action.id for action in claimants))
        for key, claimants in claims.items()
        if any(_meet(one, two) for one in claimants for two in claimants if one is not two)
    ]


# The contents of ``keybindings.json``: checked, with names of earlier versions translated.


class KeyBindings(Record):
    """What a file of keybindings says, and what is wrong with it."""

    bindings: Bindings
    problems: tuple[str, ...] = ()


def read_user_keys(document: Any) -> KeyBindings:
    """The bindings in a parsed file. What is not understood is reported and left out."""
    if not isinstance(document, dict):
        return KeyBindings(bindings={}, problems=("keybindings.json must hold an object.",))
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
    return KeyBindings(bindings=bindings, problems=tuple(problems))


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
