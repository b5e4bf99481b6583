from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.errors import ProviderError
from pi.ai.messages import Text, Thinking
from pi.testing import Reply, call, calls, says, thinks
from tests.modes.interactive.theatre import Theatre
from tests.screens.snapshots import check

MARKDOWN = """\
# Done

All is **fine** now, see `greet`:

- one
- two

```python
def greet(name):
    return f"Hello {name}"
```
"""


def working(tmp_path: Path, **options: int) -> Theatre:
    theatre = Theatre(
        tmp_path,
        Reply(
            blocks=(
                Thinking(thinking="Look first, then change."),
                Text(text="I'll look at the files."),
                call("read", path="greet.py"),
                call("read", path="notes.md", offset=1, limit=2),
            )
        ),
        calls("bash", command="seq 1 12"),
        calls("bash", command="echo no >&2; exit 3"),
        calls("edit", path="greet.py", edits=[{"oldText": "Hello", "newText": "Good day"}]),
        calls("write", path="new.py", content="import os\n\nprint(os.getcwd())\n"),
        says(MARKDOWN),
        columns=options.get("columns", 80),
        rows=options.get("rows", 24),
    )
    theatre.stage.write("project/greet.py", "def greet():\n    return 'Hello'\n")
    theatre.stage.write("project/notes.md", "one\ntwo\nthree\n")
    return theatre


@pytest.mark.parametrize("columns", [80, 40, 120])
async def test_a_whole_turn_looks_like_this(tmp_path: Path, columns: int) -> None:
    theatre = working(tmp_path, columns=columns, rows=24 if columns == 80 else 40)
    async with theatre.playing():
        await theatre.asks("Be polite", "Hello {name}")
        check(f"turn-{columns}", theatre.tape)


async def test_everything_expanded_looks_like_this(tmp_path: Path) -> None:
    theatre = working(tmp_path)
    async with theatre.playing():
        await theatre.asks("Be polite", "Hello {name}")
        theatre.type("\x0f")
        await theatre.until(lambda: "def greet():" in theatre.tape)
        await theatre.quiet()
        check("turn-expanded", theatre.tape)


@pytest.mark.behaviour("toggles-redraw-everything")
async def test_expanding_and_hiding_thoughts_redraws_old_blocks_too(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, thinks("deep thought", Text(text="Yes.")), says("No."))
    async with theatre.playing():
        theatre.send("one")
        await theatre.sees("Yes.")
        theatre.send("two")
        await theatre.sees("No.")
        await theatre.until(lambda: "deep thought" not in theatre.tape)  # it is folded
        assert "Thought for" in theatre.tape
        theatre.type("\x14")
        await theatre.until(lambda: "deep thought" in theatre.tape)
        theatre.type("\x14")
        await theatre.until(lambda: "deep thought" not in theatre.tape)


@pytest.mark.behaviour("broken-settings-are-left-alone")
async def test_thoughts_are_hidden_although_the_settings_cannot_be_written(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, thinks("deep thought", Text(text="Yes.")))
    file = theatre.stage.write(".pi/agent/settings.json", "{}")
    async with theatre.playing():
        theatre.type("\x14")
        await theatre.asks("one", "deep thought")
        file.write_text("{broken")
        theatre.type("\x14")
        await theatre.sees("✗ Invalid settings file")
        assert "deep thought" not in theatre.tape
        assert file.read_text() == "{broken"


async def test_a_failed_answer_is_reported_in_the_transcript(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ProviderError("The key is wrong."))
    async with theatre.playing():
        theatre.send("hello")
        await theatre.sees("✗ The key is wrong.")


async def test_text_of_the_model_cannot_command_the_terminal(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("a\x1b]0;owned\x07b\x1b[2Jc"))
    async with theatre.playing():
        theatre.send("hello")
        await theatre.sees("abc")
        assert theatre.terminal.title == "π - project"


async def test_an_earlier_conversation_is_shown_again(tmp_path: Path) -> None:
    theatre = working(tmp_path)
    async with theatre.playing():
        await theatre.asks("Be polite", "Hello {name}")
        before = theatre.tape
        assert theatre.commands is not None
        theatre.commands.ui.reload_session()
        await theatre.quiet()
        assert theatre.tape == before.replace("Thought for 1 s", "Thought")  # it is not stored


async def test_the_transcript_is_the_same_on_terminals_without_colours(tmp_path: Path) -> None:
    answer = says("Fine, see `greet`.")
    theatre = Theatre(tmp_path, answer, environ={"NO_COLOR": "1", "COLORTERM": ""})
    async with theatre.playing():
        await theatre.asks("hello", "Fine, see `greet`.")
    assert "38;2" not in "".join(theatre.terminal.output)
    assert "48;" not in "".join(theatre.terminal.output)


async def test_code_is_indented_as_the_user_likes_it(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("```\nprint(1)\n```"))
    theatre.stage.write(".pi/agent/settings.json", '{"markdown": {"codeBlockIndent": "| "}}')
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("\n | print(1)")
