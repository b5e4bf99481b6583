from __future__ import annotations

import base64
from pathlib import Path

import pytest
from PIL import Image as PillowImage

from pi.ai.messages import Image, Text, UserMessage, blocks
from pi.ai.providers.faux import FAUX_MODEL
from pi.base.records import replace
from pi.coding.tools.images import ImageLimits
from pi.modes.interactive.composer.pasting import PasteHandler, image_unsupported_reason
from pi.testing import ScriptedProvider, says
from pi.tui.desktop import osc52
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.interactive.app_fixture import AppFixture
from tests.modes.interactive.composer.test_clipboard_reading import picture

CTRL_V = "\x16"


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


async def paste_shows(tmp_path: Path, xclip: str, expected: str) -> None:
    """Press the key for pasting where the program for the clipboard is a script."""
    program(tmp_path, "xclip", xclip)
    app_fixture = AppFixture(
        tmp_path, environ={"PATH": f"{tmp_path}:/bin:/usr/bin", "DISPLAY": ":0"}
    )
    async with app_fixture.running():
        app_fixture.type(CTRL_V)
        await app_fixture.sees(expected)


@pytest.mark.behaviour("image-paste-never-hangs")
async def test_text_is_pasted_where_there_is_no_picture(tmp_path: Path) -> None:
    script = 'case "$*" in *image*) exit 1;; *) printf "from there";; esac'
    await paste_shows(tmp_path, script, "from there")


async def test_an_empty_clipboard_is_reported(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, environ={"PATH": str(tmp_path)})
    async with app_fixture.running():
        app_fixture.type(CTRL_V)
        await app_fixture.sees("The clipboard has no text or image.")


async def test_a_picture_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    script = 'case "$*" in *png*) printf "\\211PNG\\r\\n\\032\\nbroken";; esac'
    reported = "The image on the clipboard is damaged or too large."
    await paste_shows(tmp_path, script, reported)


async def test_text_selected_with_the_mouse_is_copied(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, environ={"PATH": str(tmp_path)})
    app_fixture.fixture.write(".pi/agent/settings.json", '{"tuiMode": "fullscreen"}')
    app_fixture.lines = ("some words to copy",)
    async with app_fixture.running():
        await app_fixture.sees("some words")
        app_fixture.type("\x1b[<0;2;2M\x1b[<32;11;2M\x1b[<0;11;2m")
        await app_fixture.sees("Copied.")
        assert any("\x1b]52;c;" in data for data in app_fixture.terminal.output)


async def test_selected_text_is_copied_by_a_key_if_copy_on_select_is_off(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, environ={"PATH": str(tmp_path)})
    settings = '{"tuiMode": "fullscreen", "fullscreenCopyOnSelect": false}'
    app_fixture.fixture.write(".pi/agent/settings.json", settings)
    app_fixture.lines = ("some words to copy",)
    async with app_fixture.running():
        await app_fixture.sees("some words")
        app_fixture.type("draft")
        app_fixture.type("\x1b[<0;2;2M\x1b[<32;11;2M\x1b[<0;11;2m")
        app_fixture.type("\x03")
        await app_fixture.sees("Copied.")
        assert osc52("some words") in "".join(app_fixture.terminal.output)
        assert "draft" in app_fixture.screen
        app_fixture.type("\x03")
        await app_fixture.loses("draft")


async def test_a_dropped_picture_is_sent_with_the_message(tmp_path: Path) -> None:
    path = tmp_path / "my picture.png"
    path.write_bytes(picture("PNG"))
    app_fixture = AppFixture(tmp_path, says("I see."))
    async with app_fixture.running():
        app_fixture.type("look: ")
        app_fixture.type(f"\x1b[200~'{path}' \x1b[201~")
        await app_fixture.sees("look: [image #1]")
        app_fixture.type("\r")
        await app_fixture.sees("I see.")
        [request] = app_fixture.fixture.provider.requests
        message = request.messages[-1]
        assert isinstance(message, UserMessage)
        text, image = blocks(message.content)
        assert (text, type(image)) == (Text(text="look: [image #1]"), Image)


@pytest.mark.behaviour("pastes-are-robust")
async def test_enter_right_behind_a_dropped_picture_sends_it_too(tmp_path: Path) -> None:
    paths = [tmp_path / "one.png", tmp_path / "two.png"]
    for path in paths:
        path.write_bytes(picture("PNG"))
    first, second = (f"\x1b[200~{path}\x1b[201~" for path in paths)
    app_fixture = AppFixture(tmp_path, says("I see."))
    async with app_fixture.running():
        app_fixture.type(f"{first} and {second} differ how?\r")
        await app_fixture.sees("I see.")
        await app_fixture.sees("▌ [image #1] and [image #2] differ how?")
        [request] = app_fixture.fixture.provider.requests
        message = request.messages[-1]
        assert isinstance(message, UserMessage)
        text, *images = blocks(message.content)
        assert text == Text(text="[image #1] and [image #2] differ how?")
        assert len(images) == 2


async def test_pasting_an_image_warns_if_the_model_will_not_see_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "one.png").write_bytes(picture("PNG"))
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"images": {"blockImages": true}}')
    async with app_fixture.running():
        app_fixture.type(f"\x1b[200~{tmp_path / 'one.png'}\x1b[201~")
        await app_fixture.sees("Images are not sent: the setting images.blockImages is on.")
        await app_fixture.sees("\n[image #1]\n")


async def test_the_reason_why_images_are_unsupported_depends_on_the_model(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    models = (
        replace(FAUX_MODEL, id="sees", input=("text", "image")),
        replace(FAUX_MODEL, id="blind", input=("text",)),
    )
    fixture.registry.models.register(ScriptedProvider(models=models))
    reported = []
    for model in models:
        session = await fixture.open(model=f"faux/{model.id}")
        reported.append(image_unsupported_reason(session))
        await session.close()

    assert reported == [
        "",
        "faux/blind does not support images; it only gets a note that one was omitted.",
    ]


async def test_keys_are_handled_after_an_unreadable_image(
    tmp_path: Path,
) -> None:
    def broken() -> ImageLimits:
        raise RuntimeError("broken")

    async with AppFixture(tmp_path).running() as app_fixture:
        assert app_fixture.commands is not None
        composer, ui = app_fixture.app._frame.composer, app_fixture.commands.ui
        composer.prompt.on_paste = PasteHandler(app_fixture.start, ui, composer, limits=broken).drop
        app_fixture.type("\x1b[200~/nowhere/a.png\x1b[201~typed on")
        await app_fixture.sees("reading pictures failed: RuntimeError('broken')")
        await app_fixture.sees("\ntyped on\n")


async def test_a_path_that_is_not_a_picture_is_pasted_as_text(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("\x1b[200~/nowhere/a.png\x1b[201~")
        await app_fixture.sees("\n/nowhere/a.png\n")


async def test_a_large_picture_is_not_resized_if_auto_resize_is_off(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    PillowImage.new("L", (3000, 10)).save(path)
    app_fixture = AppFixture(tmp_path, says("I see."))
    app_fixture.fixture.write(".pi/agent/settings.json", '{"images": {"autoResize": false}}')
    async with app_fixture.running():
        app_fixture.type(f"\x1b[200~{path}\x1b[201~")
        await app_fixture.sees("[image #1]")
        app_fixture.type("\r")
        await app_fixture.sees("I see.")
        [request] = app_fixture.fixture.provider.requests
        message = request.messages[-1]
        assert isinstance(message, UserMessage)
        image = blocks(message.content)[-1]
        assert isinstance(image, Image)
        assert base64.b64decode(image.data) == path.read_bytes()
