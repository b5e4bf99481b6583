"""Files that are named as ``@path``, with the setting ``editor.attachFiles``."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from pi.ai.messages import Image, UserMessage
from pi.coding.mentions import MAX_FILE_BYTES
from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.snapshots import check


def attaching(tmp_path: Path, *steps: Any, **options: Any) -> AppFixture:
    app_fixture = AppFixture(tmp_path, *steps, **options)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"editor": {"attachFiles": true}}')
    app_fixture.fixture.write("project/src/main.py", "print(1)\nprint(2)\n")
    app_fixture.fixture.write("project/src/mail.py", "")
    return app_fixture


def sent(app_fixture: AppFixture) -> UserMessage:
    """Return the last message of the user, as it is sent to the model."""
    assert app_fixture.session is not None
    messages = app_fixture.session.info.messages()
    return [message for message in messages if isinstance(message, UserMessage)][-1]


def text_of(app_fixture: AppFixture) -> str:
    content = sent(app_fixture).content
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if not isinstance(block, Image))


async def test_a_mentioned_file_is_attached_and_shown_as_a_chip(tmp_path: Path) -> None:
    app_fixture = attaching(tmp_path, says("Two lines."), columns=60, rows=16)
    async with app_fixture.running():
        app_fixture.type("explain @src/main.py, please")
        await app_fixture.until(lambda: "please" in app_fixture.screen)
        await app_fixture.clock.advance(1.0)
        await app_fixture.sees("[@src/main.py · 2 lines]")
        await app_fixture.quiet()
        check("attachment-chip", app_fixture.screen)
        await app_fixture.asks("", "Two lines.")
        path = app_fixture.fixture.cwd / "src" / "main.py"
        assert text_of(app_fixture) == (
            f'<file name="{path}">\nprint(1)\nprint(2)\n\n</file>\nexplain @src/main.py, please'
        )
        await app_fixture.sees("▌ explain @src/main.py [2 lines], please")
        await app_fixture.loses("[@src/main.py · 2 lines]")
        assert "print(1)" not in app_fixture.screen
        app_fixture.type("\x1b[A")
        await app_fixture.sees("\nexplain @src/main.py, please\n")


async def test_by_default_a_mention_is_only_text(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    app_fixture.fixture.write("project/a.txt", "content")
    async with app_fixture.running():
        app_fixture.type("see @a.txt now")
        await app_fixture.sees("now")
        await app_fixture.clock.advance(1.0)
        await app_fixture.quiet()
        assert "[@a.txt" not in app_fixture.screen
        await app_fixture.asks("", "Yes.")
        assert text_of(app_fixture) == "see @a.txt now"


async def test_directories_and_patterns_are_listed_and_images_are_seen(tmp_path: Path) -> None:
    app_fixture = attaching(tmp_path, says("Seen."), columns=120)
    picture = BytesIO()
    Pillow.new("RGB", (4, 4)).save(picture, "PNG")
    (app_fixture.fixture.cwd / "a b.png").write_bytes(picture.getvalue())
    async with app_fixture.running():
        await app_fixture.asks('look at @src @src/m*n.py and @"a b.png" @nothing', "Seen.")
        cwd, text = app_fixture.fixture.cwd, text_of(app_fixture)
        assert f'<file name="{cwd}/src">\nmail.py\nmain.py\n</file>\n' in text
        assert f'<file name="{cwd}/src/m*n.py">\nsrc/main.py\n</file>\n' in text
        assert f'<file name="{cwd}/a b.png"></file>\n' in text
        assert text.endswith('look at @src @src/m*n.py and @"a b.png" @nothing')
        assert sum(isinstance(block, Image) for block in sent(app_fixture).content) == 1
        await app_fixture.sees('look at @src [2 lines] @src/m*n.py [1 line] and @"a b.png" [image]')


async def test_large_and_binary_files_are_reported_and_not_attached(tmp_path: Path) -> None:
    app_fixture = attaching(tmp_path, says("So be it."), columns=120)
    app_fixture.fixture.write("project/big.log", "x" * (MAX_FILE_BYTES + 1))
    (app_fixture.fixture.cwd / "data.bin").write_bytes(b"\0\1\2")
    async with app_fixture.running():
        await app_fixture.asks("see @big.log and @data.bin", "So be it.")
        assert text_of(app_fixture) == "see @big.log and @data.bin"
        await app_fixture.sees("@big.log is not attached: 256 KiB is more than the limit")
        await app_fixture.sees("@data.bin is not attached: it is not a text file.")


async def test_a_queued_message_is_shown_and_restored_as_typed(tmp_path: Path) -> None:
    app_fixture = attaching(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.send("then @src/main.py")
        await app_fixture.sees("Steering: then @src/main.py")
        app_fixture.type("\x1b")
        await app_fixture.sees("aborted")
        await app_fixture.sees("\nthen @src/main.py\n")
        await app_fixture.rests()
