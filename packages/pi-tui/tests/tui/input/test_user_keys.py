from __future__ import annotations

from pi.tui.input.actions import ACTIONS
from pi.tui.input.keymap import LEGACY, KeyBindings, migrated, read_user_keys


def test_a_value_is_a_key_or_a_list_of_keys() -> None:
    document = {"app.clear": "ctrl+c", "app.exit": ["ctrl+d", "f10"], "app.suspend": [], "x.y": "a"}

    assert read_user_keys(document) == KeyBindings(
        bindings={
            "app.clear": ("ctrl+c",),
            "app.exit": ("ctrl+d", "f10"),
            "app.suspend": (),
            "x.y": ("a",),
        }
    )


def test_invalid_bindings_are_reported_and_the_rest_is_used() -> None:
    document = {"app.clear": "ctrl+nope", "app.exit": 7, "app.suspend": ["ctrl+q", "cmd+q"]}

    assert read_user_keys(document) == KeyBindings(
        bindings={"app.suspend": ("ctrl+q",)},
        problems=(
            'keybindings.json: "app.clear" names the key "ctrl+nope", which does not exist; '
            'write it like "ctrl+shift+x".',
            'keybindings.json: "app.exit" must be a key or a list of keys.',
            'keybindings.json: "app.suspend" names the key "cmd+q", which does not exist; '
            'write it like "ctrl+shift+x".',
        ),
    )


def test_a_file_that_is_not_an_object_is_reported() -> None:
    assert read_user_keys([]) == KeyBindings(
        bindings={}, problems=("keybindings.json must contain an object.",)
    )


def test_flat_names_of_earlier_versions_are_translated() -> None:
    document = {"cursorUp": "f1", "selectPageDown": "f2", "followUp": "f3", "treeFoldOrUp": "f4"}

    assert migrated(document) == {
        "tui.editor.cursorUp": "f1",
        "tui.select.pageDown": "f2",
        "app.message.followUp": "f3",
        "app.tree.foldOrUp": "f4",
    }


def test_the_new_name_wins_over_the_old_one() -> None:
    assert migrated({"app.clear": "f1", "clear": "f2"}) == {"app.clear": "f1"}


def test_every_old_name_maps_to_an_action() -> None:
    assert set(LEGACY.values()) <= {action.id for action in ACTIONS}
