"""The person's key bindings, from ``keybindings.json``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pi.base.files import read_if_exists
from pi.base.records import UNREADABLE
from pi.tui.input.keymap import Keymap
from pi.tui.input.user_keys import UserKeys, read_user_keys

NAME = "keybindings.json"


def load_keys(keymap: Keymap, agent_dir: Path) -> tuple[str, ...]:
    """Have ``keymap`` follow the file; gives what is wrong with it, in a line each."""
    keys = _read(agent_dir / NAME)
    keymap.load(keys.bindings)
    shared = [
        f"{NAME}: {conflict.key} is bound to {' and '.join(conflict.actions)}."
        for conflict in keymap.conflicts
    ]
    return (*keys.problems, *shared)


def _read(path: Path) -> UserKeys:
    content = read_if_exists(path)
    if content is None:
        return UserKeys(bindings={})
    try:
        return read_user_keys(msgspec.json.decode(content))
    except UNREADABLE as problem:
        return UserKeys(bindings={}, problems=(f"{path} is not JSON: {problem}",))
