from __future__ import annotations

import pytest

from pi.tui.input.keymap import Conflict, Keymap
from pi.tui.input.keys import matches_key

CTRL_K, CTRL_P, CTRL_X = "\x0b", "\x10", "\x18"


def test_a_key_may_be_bound_to_several_actions() -> None:
    keymap = Keymap()

    assert keymap.actions("\x1b[A") == ("tui.editor.cursorUp", "tui.select.up", "tui.vim.up")
    assert keymap.actions("q") == ()
    assert keymap.matches("\x1b\r", "app.message.followUp")


def test_the_default_bindings_depend_on_the_platform() -> None:
    assert Keymap(platform="windows").keys("tui.editor.undo") == ("ctrl+z",)
    assert Keymap(platform="wsl").keys("tui.editor.undo") == ("alt+z",)


def test_a_binding_replaces_the_defaults_and_an_empty_one_unbinds() -> None:
    keymap = Keymap({"app.tools.expand": ("f2",), "app.message.copy": ()})

    assert keymap.keys("app.tools.expand") == ("f2",)
    assert keymap.actions("\x0f") == ("app.tree.filter.cycleForward",)
    assert keymap.actions(CTRL_X) == ("app.models.clearAll",)


@pytest.mark.behaviour("user-bindings-win")
def test_a_user_binding_shadows_default_actions_of_overlapping_contexts() -> None:
    keymap = Keymap({"app.tools.expand": ("ctrl+k",), "tui.editor.undo": ("ctrl+p",)})

    assert keymap.actions(CTRL_K) == ("app.tools.expand",)
    assert keymap.actions(CTRL_P) == ("tui.editor.undo",)
    assert keymap.keys("tui.editor.deleteToLineEnd") == ()


@pytest.mark.behaviour("user-bindings-win")
def test_a_user_binding_evicts_no_other_default() -> None:
    keymap = Keymap({"app.tools.expand": ("ctrl+w",), "tui.select.up": ("up", "ctrl+p")})

    assert keymap.keys("tui.editor.deleteWordBackward") == ("alt+backspace",)
    assert keymap.keys("tui.editor.cursorUp") == ("up",)
    assert keymap.keys("app.tree.filter.cycleForward") == ("ctrl+o",)


@pytest.mark.behaviour("user-bindings-win")
def test_contexts_that_are_never_active_together_keep_their_keys() -> None:
    keymap = Keymap({"app.tree.editLabel": ("ctrl+p",)})

    assert keymap.actions(CTRL_P) == (
        "app.model.cycleForward",
        "app.session.togglePath",
        "app.models.toggleProvider",
        "app.tree.editLabel",
    )


@pytest.mark.behaviour("user-bindings-win")
def test_a_reload_applies_to_all_users_of_the_keymap() -> None:
    keymap = Keymap({"app.tools.expand": ("f2",)})

    keymap.load({})

    assert keymap.keys("app.tools.expand") == ("ctrl+o",)
    assert keymap.actions("\x1bOQ") == ()


def test_one_key_bound_by_the_user_to_two_actions_is_a_conflict() -> None:
    keymap = Keymap({"app.tools.expand": ("f2",), "app.message.copy": ("F2",)})

    assert keymap.conflicts == (
        Conflict(key="f2", actions=("app.tools.expand", "app.message.copy")),
    )
    assert keymap.actions("\x1bOQ") == ("app.tools.expand", "app.message.copy")


def test_one_key_bound_in_two_separate_contexts_is_not_a_conflict() -> None:
    keymap = Keymap({"app.tree.editLabel": ("f2",), "app.session.rename": ("f2",)})

    assert keymap.conflicts == ()


def test_unknown_actions_and_keys_are_ignored() -> None:
    keymap = Keymap({"app.future": ("ctrl+k",), "app.message.copy": ("ctrl+nothing", "f3")})

    assert keymap.keys("app.future") == ()
    assert keymap.keys("app.message.copy") == ("f3",)
    assert keymap.actions(CTRL_K) == ("tui.editor.deleteToLineEnd",)


@pytest.mark.behaviour("shortcuts-on-other-layouts")
def test_a_shortcut_works_on_a_cyrillic_layout() -> None:
    assert Keymap().matches("\x1b[1083::107;5u", "tui.editor.deleteToLineEnd")


def test_bound_returns_the_actions_of_a_key_in_a_context() -> None:
    keymap = Keymap()

    assert keymap.bound("ctrl+p", "prompt") == ("app.model.cycleForward",)
    assert keymap.bound("ctrl+s", "prompt") == ()
    assert "app.models.save" in keymap.bound("ctrl+s", "models")
    assert keymap.bound("f5", "prompt") == ()


@pytest.mark.parametrize("data", ["\x1b[127;2u", "\x1b[27;2;127~"])
def test_shift_backspace_deletes_like_backspace_unless_bound(data: str) -> None:
    assert Keymap().actions(data) == Keymap().actions("\x7f")
    assert Keymap({"app.exit": ("shift+backspace",)}).actions(data) == ("app.exit",)
    assert not matches_key(data, "backspace")


def test_shift_delete_deletes_like_delete() -> None:
    assert Keymap().actions("\x1b[3;2~") == Keymap().actions("\x1b[3~")
