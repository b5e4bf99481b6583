"""Maps keys to actions: the defaults and the user's ``keybindings.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.base.records import Record
from pi.tui.input.actions import ACTIONS, Action, KeyContext, Platform
from pi.tui.input.keys import canonical, key_names

Bindings = Mapping[str, tuple[str, ...]]
"""Keys by action, as configured by the user; an empty tuple unbinds."""


_SLIPS = {"shift+backspace": "backspace", "shift+delete": "delete"}
"""Keys typed with Shift still held from the previous letter, unless they are bound themselves."""


class Conflict(Record):
    """A key that the user bound to several actions available at the same time."""

    key: str
    actions: tuple[str, ...]


class Keymap:
    """Returns the actions of a key. One shared instance, so that a reload affects every component.

    A key that the user binds to an action is removed from the defaults of all actions that are
    available in the same context. Their other keys stay, and the key keeps its default where the
    two actions are never available together. Binding a default key of an action again removes it
    from no other action.
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
                keys[action.id] = defaults = _canonical(action.keys(self._platform))
                if claims:
                    keys[action.id] = tuple(
                        key
                        for key in defaults
                        if not any(_share_context(action, other) for other in claims.get(key, ()))
                    )
            for key in keys[action.id]:
                by_key.setdefault(key, []).append(action.id)
        self._keys = keys
        self._by_key = {key: tuple(ids) for key, ids in by_key.items()}
        self._conflicts = tuple(_conflicts(claims))
        self._user = dict(user)

    def actions(self, data: str) -> tuple[str, ...]:
        """Return the actions of a key sequence. Which one runs depends on the active component."""
        names = key_names(data)
        for name in (*names, *(_SLIPS[name] for name in names if name in _SLIPS)):
            if actions := self._by_key.get(name):
                return actions
        return ()

    def matches(self, data: str, action: str) -> bool:
        """Return whether a key sequence triggers this action."""
        return action in self.actions(data)

    def bound(self, key: str, context: KeyContext) -> tuple[str, ...]:
        """Return the actions that a key, by its canonical name, triggers in a context."""
        actions = (self._actions[id] for id in self._by_key.get(key, ()))
        return tuple(action.id for action in actions if action.context in (context, "anywhere"))

    def keys(self, action: str) -> tuple[str, ...]:
        """Return the keys of an action for hints; empty for an unbound or unknown action."""
        return self._keys.get(action, ())

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Conflicts in the user's bindings."""
        return self._conflicts

    def _claims(self, user: Bindings) -> dict[str, list[Action]]:
        """Return the actions to which the user bound each key, beyond their defaults."""
        claims: dict[str, list[Action]] = {}
        for name, keys in user.items():
            if action := self._actions.get(name):
                own = _canonical(action.keys(self._platform))
                for key in _canonical(keys):
                    if key not in own:
                        claims.setdefault(key, []).append(action)
        return claims


def _canonical(keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([key for name in keys if (key := canonical(name))]))


def _share_context(action: Action, other: Action) -> bool:
    if "vim" in (action.context, other.context):
        # Letters of vim are free elsewhere: the mode decides before other actions are looked at.
        return action.context == other.context
    return action.context == other.context or "anywhere" in (action.context, other.context)


def _conflicts(claims: Mapping[str, Sequence[Action]]) -> list[Conflict]:
    return [
        Conflict(key=key, actions=tuple(action.id for action in claimants))
        for key, claimants in claims.items()
        if any(_share_context(one, two) for one in claimants for two in claimants if one is not two)
    ]


class KeyBindings(Record):
    """The bindings of a file, and the errors found in it."""

    bindings: Bindings
    problems: tuple[str, ...] = ()


def read_user_keys(document: Any) -> KeyBindings:
    """Read the bindings in a parsed ``keybindings.json``.

    Invalid entries are reported and skipped.
    """
    if not isinstance(document, dict):
        return KeyBindings(bindings={}, problems=("keybindings.json must contain an object.",))
    bindings: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for action, value in migrated(document).items():
        if action == "$schema":
            continue
        keys = [value] if isinstance(value, str) else value
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            problems.append(f'keybindings.json: "{action}" must be a key or a list of keys.')
            continue
        for unknown in (key for key in keys if canonical(key) is None):
            problems.append(
                f'keybindings.json: "{action}" names the key "{unknown}", which does not exist; '
                'write it like "ctrl+shift+x".'
            )
        valid_keys = tuple(key for key in keys if canonical(key))
        if valid_keys or not keys:  # only unknown keys: the defaults are better than no key
            bindings[action] = valid_keys
    return KeyBindings(bindings=bindings, problems=tuple(problems))


def migrated(document: dict[str, Any]) -> dict[str, Any]:
    """Rename actions of earlier versions. If both names are present, the new name wins."""
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
"""Action ids by their names in earlier versions."""
