from __future__ import annotations

from pi.ai.messages import Image
from pi.base.tasks import TaskScope
from pi.coding.port.extensions import InputMode
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.composer.prompt import TypingDetector
from pi.modes.interactive.extensions.editor import ExtensionEditor
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from pi.testing import FakeClock
from pi.tui.input.keymap import Keymap
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.extensions.layouts import FullEditor
from tests.modes.interactive.transcript.looks import plain

IMAGE = Image(data="AA", mime_type="image/png")


def composer() -> Composer:
    return Composer(
        Theme(built_in("dark")),
        Keymap(),
        tasks=TaskScope(),
        typing=TypingDetector(FakeClock()),
        screen_rows=lambda: 24,
        request_render=lambda: None,
    )


def test_a_submitted_text_has_its_pictures_and_is_added_to_the_history() -> None:
    made = composer()
    sent: list[object] = []
    made.on_submit = lambda text, images: sent.append((text, images))

    made.set_text("see ")
    made.attach(IMAGE)
    made.prompt.handle_input("\r")
    made.prompt.handle_input("\x1b[A")

    assert sent == [("see [image #1]", (IMAGE,))]
    assert made.text == "see [image #1]"


def test_nothing_is_sent_for_an_empty_text() -> None:
    made = composer()
    sent: list[object] = []
    made.on_submit = lambda text, images: sent.append(text)

    made.prompt.handle_input("\r")

    assert sent == []


def test_restored_messages_are_put_before_the_draft() -> None:
    made = composer()
    made.set_text("draft")

    made.restore(["one", "two"])

    assert made.text == "one\n\ntwo\n\ndraft"


def test_queued_messages_and_the_draft_count_as_unsent_text() -> None:
    made = composer()
    reported: list[str] = []
    made.on_change = lambda: reported.append(made.unsent)

    made.set_text("draft")
    made.show_queued(("Steering", ("one\nmore",)), ("Follow-up", ("two",)))
    made.show_queued()

    assert reported == ["draft", "one\nmore\n\ntwo\n\ndraft", "draft"]


def test_a_picture_of_an_unsent_text_is_marked_as_not_kept() -> None:
    made = composer()
    made.attach(Image(data="AA", mime_type="image/png"))

    assert (made.text, made.unsent) == ("[image #1]", "[image, not kept]")


def test_a_taken_text_is_added_to_the_history() -> None:
    made = composer()
    made.set_text(" !make ")

    prompt = made.take()
    made.prompt.handle_input("\x1b[A")

    assert (prompt, made.text) == (("!make", ()), "!make")


def test_the_text_is_reported_with_long_pastes_in_full() -> None:
    made = composer()
    reported: list[str] = []
    made.on_change = lambda: reported.append(made.unsent)
    pasted = "\n".join(str(number) for number in range(20))

    made.prompt.handle_input(f"\x1b[200~{pasted}\x1b[201~")

    assert reported == [pasted]
    assert made.take() == (pasted, ())
    assert made.text == ""


def test_the_border_shows_the_level_and_the_mode() -> None:
    made = composer()
    borders = []
    for level in ("off", "high"):
        made.show_level(level)
        borders.append(made.component.render(20)[0])
    made.set_text("!ls")
    borders.append(made.component.render(20)[0])

    assert len(set(borders)) == 3


def test_a_label_stands_in_the_border() -> None:
    made = composer()

    made.show_label("⠙ Working")

    assert plain(made.component, 20)[0] == "── ⠙ Working ───────"


def test_a_replacement_editor_gets_the_settings_and_the_text() -> None:
    made = composer()
    sent: list[str] = []
    made.on_submit = lambda text, images: sent.append(text)
    made.arrange(padding=2, suggestions=3)
    made.show_label("Working")
    made.set_text("half")

    other = FullEditor()
    made.use(ExtensionEditor(other, lambda error: None))
    assert (other.text, other.reported) == ("half", [2])
    assert plain(made.component) == ["Working", "half"]

    other.on_submit("half a sentence")
    assert sent == ["half a sentence"]
    other.text = "the rest"
    made.use(None)
    assert made.text == "the rest in full"


def test_an_input_mode_of_an_extension_has_a_label_and_a_colour() -> None:
    made = composer()
    mode = InputMode(label="python", run=lambda text, ctx: None, colour="error")
    made.mode_of = lambda text: mode if text.startswith("$") else None
    made.show_level("off")
    usual = made.prompt.editor.border_color

    made.set_text("$ 1")
    assert made.prompt.editor.border_color != usual
    made.show_label("Working")
    assert strip_sequences(made.prompt.editor.label) == "python  Working"

    made.set_text("")
    assert (made.prompt.editor.border_color, made.prompt.editor.label) == (usual, "Working")
