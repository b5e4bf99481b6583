from __future__ import annotations

from pi.tui.input.actions import ACTIONS, platform_of
from pi.tui.input.keys import canonical


def test_every_action_is_defined_once_with_valid_keys() -> None:
    ids = [action.id for action in ACTIONS]
    keys = {key for action in ACTIONS for key in action.posix + action.windows + action.wsl}

    assert len(ids) == len(set(ids))
    assert [key for key in sorted(keys) if canonical(key) is None] == []


def test_default_keys_differ_where_a_platforms_terminals_reserve_a_key() -> None:
    by_id = {action.id: action for action in ACTIONS}
    undo, suspend = by_id["tui.editor.undo"], by_id["app.suspend"]
    back, search = by_id["app.model.cycleBackward"], by_id["tui.altScreen.search"]

    assert [undo.keys(platform) for platform in ("posix", "windows", "wsl")] == [
        ("ctrl+-",),
        ("ctrl+z",),
        ("alt+z",),
    ]
    assert [suspend.keys(platform) for platform in ("posix", "windows", "wsl")] == [
        ("ctrl+z",),
        (),
        ("ctrl+z",),
    ]
    assert (back.posix, back.windows, back.wsl) == (("shift+ctrl+p",), ("alt+p",), ("alt+p",))
    assert (search.posix, search.windows, search.wsl) == (
        ("ctrl+shift+f",),
        ("ctrl+f",),
        ("ctrl+f",),
    )


def test_the_platform_is_detected_by_system_and_environment() -> None:
    assert platform_of("linux", {}) == "posix"
    assert platform_of("darwin", {}) == "posix"
    assert platform_of("win32", {}) == "windows"
    assert platform_of("linux", {"WSL_DISTRO_NAME": "Debian"}) == "wsl"
