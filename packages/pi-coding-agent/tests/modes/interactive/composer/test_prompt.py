from __future__ import annotations

from pi.modes.interactive.composer.prompt import PAUSE_SECONDS, PromptEditor, TypingDetector
from pi.testing import FakeClock
from pi.tui.input.keymap import Keymap
from pi.tui.widgets.editor.editor import Editor


def prompt(keymap: Keymap | None = None) -> PromptEditor:
    keymap = keymap or Keymap()
    return PromptEditor(Editor(keymap=keymap), keymap, TypingDetector(FakeClock()))


def test_keys_of_the_application_do_not_reach_the_editor() -> None:
    made = prompt()
    actions: list[str] = []

    def act(action: str) -> bool:
        actions.append(action)
        return True

    made.on_action = act

    made.handle_input("a")
    made.handle_input("\x0f")

    assert (made.editor.get_text(), actions) == ("a", ["app.tools.expand"])


def test_a_key_of_an_unhandled_action_goes_to_the_editor() -> None:
    made = prompt()

    for key in ("a", "b", "\x01", "\x04"):
        made.handle_input(key)

    assert made.editor.get_text() == "b"


def test_history_keys_override_keys_of_the_application() -> None:
    made = prompt(Keymap({"tui.editor.historyPrevious": ("ctrl+o",)}))
    made.on_action = lambda action: True
    made.editor.add_to_history("earlier")

    made.handle_input("\x0f")

    assert made.editor.get_text() == "earlier"


def test_the_focus_is_passed_to_the_editor() -> None:
    made = prompt()

    made.focused = True

    assert made.editor.focused
    assert made.render(20) == made.editor.render(20)


def test_a_key_consumed_by_a_listener_does_not_reach_the_editor() -> None:
    made = prompt()
    made.on_key = lambda data: data == "x"

    made.handle_input("x")
    made.handle_input("y")

    assert made.editor.get_text() == "y"


def test_keys_are_held_until_a_pending_paste_is_inserted() -> None:
    made = prompt()

    release = made.hold()
    for key in "bc":
        made.handle_input(key)
    made.editor.insert_text_at_cursor("a")
    before = made.editor.get_text()
    release()
    made.handle_input("d")

    assert (before, made.editor.get_text()) == ("a", "abcd")


def test_only_keys_of_the_editor_count_as_writing() -> None:
    typing = TypingDetector(FakeClock())
    made = PromptEditor(Editor(), Keymap(), typing)
    made.on_action = lambda action: True
    made.on_key = lambda data: data == "x"
    remaining = []

    for key in ("a", "x", "a", "\x0f"):
        made.handle_input(key)
        remaining.append(typing.remaining)

    assert remaining == [PAUSE_SECONDS, 0.0, PAUSE_SECONDS, 0.0]
