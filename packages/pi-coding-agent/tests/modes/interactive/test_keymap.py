from __future__ import annotations

from pathlib import Path

from pi.modes.interactive.startup import load_keys
from pi.tui.input.keymap import Keymap


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    keymap = Keymap()

    assert load_keys(keymap, tmp_path) == ()
    assert keymap.keys("app.tools.expand") == ("ctrl+o",)


def test_the_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "keybindings.json").write_text('{"expandTools": "ctrl+e", "app.suspend": []}')
    keymap = Keymap()

    assert load_keys(keymap, tmp_path) == ()
    assert keymap.keys("app.tools.expand") == ("ctrl+e",)
    assert keymap.keys("app.suspend") == ()


def test_invalid_files_and_conflicting_keys_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "keybindings.json"

    for broken in (b"{", b'{"app.exit": "\xff"}', b"[" * 100_000):
        path.write_bytes(broken)
        assert "is not JSON" in load_keys(Keymap(), tmp_path)[0]
    path.write_text('{"app.exit": "ctrl+e", "app.clear": "ctrl+e"}')
    assert load_keys(Keymap(), tmp_path) == (
        "keybindings.json: ctrl+e is bound to app.exit and app.clear.",
    )
