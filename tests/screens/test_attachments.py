"""Files that are named as ``@path``, with the setting ``editor.attachFiles``."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from pi.ai.messages import Image, UserMessage
from pi.coding.mentions import MAX_FILE_BYTES
from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre
from tests.screens.snapshots import check


def attaching(tmp_path: Path, *steps: Any, **options: Any) -> Theatre:
    theatre = Theatre(tmp_path, *steps, **options)
    theatre.stage.write(".pi/agent/settings.json", '{"editor": {"attachFiles": true}}')
    theatre.stage.write("project/src/main.py", "print(1)\nprint(2)\n")
    theatre.stage.write("project/src/mail.py", "")
    return theatre


def sent(theatre: Theatre) -> UserMessage:
    """The last message of the user, as the model gets it."""
    assert theatre.session is not None
    messages = theatre.session.facts.messages()
    return [message for message in messages if isinstance(message, UserMessage)][-1]


def text_of(theatre: Theatre) -> str:
    content = sent(theatre).content
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if not isinstance(block, Image))


async def test_a_mentioned_file_is_attached_and_shown_as_a_chip(tmp_path: Path) -> None:
    theatre = attaching(tmp_path, says("Two lines."), columns=60, rows=16)
    async with theatre.playing():
        theatre.type("explain @src/main.py, please")
        await theatre.until(lambda: "please" in theatre.screen)
        await theatre.clock.advance(1.0)
        await theatre.sees("[@src/main.py · 2 lines]")
        await theatre.quiet()
        check("attachment-chip", theatre.screen)
        await theatre.asks("", "Two lines.")
        path = theatre.stage.cwd / "src" / "main.py"
        assert text_of(theatre) == (
            f'<file name="{path}">\nprint(1)\nprint(2)\n\n</file>\nexplain @src/main.py, please'
        )
        await theatre.sees("▌ explain @src/main.py [2 lines], please")
        await theatre.loses("[@src/main.py · 2 lines]")
        assert "print(1)" not in theatre.screen
        theatre.type("\x1b[A")
        await theatre.sees("\nexplain @src/main.py, please\n")


async def test_by_default_a_mention_is_only_text(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Yes."))
    theatre.stage.write("project/a.txt", "content")
    async with theatre.playing():
        theatre.type("see @a.txt now")
        await theatre.sees("now")
        await theatre.clock.advance(1.0)
        await theatre.quiet()
        assert "[@a.txt" not in theatre.screen
        await theatre.asks("", "Yes.")
        assert text_of(theatre) == "see @a.txt now"


async def test_directories_and_patterns_are_listed_and_images_are_seen(tmp_path: Path) -> None:
    theatre = attaching(tmp_path, says("Seen."), columns=120)
    picture = BytesIO()
    Pillow.new("RGB", (4, 4)).save(picture, "PNG")
    (theatre.stage.cwd / "a b.png").write_bytes(picture.getvalue())
    async with theatre.playing():
        await theatre.asks('look at @src @src/m*n.py and @"a b.png" @nothing', "Seen.")
        cwd, text = theatre.stage.cwd, text_of(theatre)
        assert f'<file name="{cwd}/src">\nmail.py\nmain.py\n</file>\n' in text
        assert f'<file name="{cwd}/src/m*n.py">\nsrc/main.py\n</file>\n' in text
        assert f'<file name="{cwd}/a b.png"></file>\n' in text
        assert text.endswith('look at @src @src/m*n.py and @"a b.png" @nothing')
        assert sum(isinstance(block, Image) for block in sent(theatre).content) == 1
        await theatre.sees('look at @src [2 lines] @src/m*n.py [1 line] and @"a b.png" [image]')


async def test_what_is_too_large_or_no_text_is_reported_and_left_out(tmp_path: Path) -> None:
    theatre = attaching(tmp_path, says("So be it."), columns=120)
    theatre.stage.write("project/big.log", "x" * (MAX_FILE_BYTES + 1))
    (theatre.stage.cwd / "data.bin").write_bytes(b"\0\1\2")
    async with theatre.playing():
        await theatre.asks("see @big.log and @data.bin", "So be it.")
        assert text_of(theatre) == "see @big.log and @data.bin"
        await theatre.sees("@big.log is not attached: 256 KiB is more than the limit")
        await theatre.sees("@data.bin is not attached: it is not a text.")


async def test_a_queued_message_is_shown_and_taken_back_as_typed(tmp_path: Path) -> None:
    theatre = attaching(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.send("then @src/main.py")
        await theatre.sees("Steering: then @src/main.py")
        theatre.type("\x1b")
        await theatre.sees("aborted")
        await theatre.sees("\nthen @src/main.py\n")
        await theatre.rests()
