from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.errors import ProviderError
from pi.ai.messages import Text, Thinking
from pi.testing import Reply, call, calls, says, thinks
from tests.modes.interactive.app_fixture import AppFixture
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


def working(tmp_path: Path, **options: int) -> AppFixture:
    app_fixture = AppFixture(
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
    app_fixture.fixture.write("project/greet.py", "def greet():\n    return 'Hello'\n")
    app_fixture.fixture.write("project/notes.md", "one\ntwo\nthree\n")
    return app_fixture


@pytest.mark.parametrize("columns", [80, 40, 120])
async def test_a_whole_turn_matches_its_snapshot(tmp_path: Path, columns: int) -> None:
    app_fixture = working(tmp_path, columns=columns, rows=24 if columns == 80 else 40)
    async with app_fixture.running():
        await app_fixture.asks("Be polite", "Hello {name}")
        check(f"turn-{columns}", app_fixture.tape)


async def test_an_expanded_turn_matches_its_snapshot(tmp_path: Path) -> None:
    app_fixture = working(tmp_path)
    async with app_fixture.running():
        await app_fixture.asks("Be polite", "Hello {name}")
        app_fixture.type("\x0f")
        await app_fixture.until(lambda: "def greet():" in app_fixture.tape)
        await app_fixture.quiet()
        check("turn-expanded", app_fixture.tape)


@pytest.mark.behaviour("toggles-redraw-everything")
async def test_expanding_and_hiding_thoughts_redraws_old_blocks_too(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, thinks("deep thought", Text(text="Yes.")), says("No."))
    async with app_fixture.running():
        app_fixture.send("one")
        await app_fixture.sees("Yes.")
        app_fixture.send("two")
        await app_fixture.sees("No.")
        await app_fixture.until(lambda: "deep thought" not in app_fixture.tape)  # it is folded
        assert "Thought for" in app_fixture.tape
        app_fixture.type("\x14")
        await app_fixture.until(lambda: "deep thought" in app_fixture.tape)
        app_fixture.type("\x14")
        await app_fixture.until(lambda: "deep thought" not in app_fixture.tape)


@pytest.mark.behaviour("broken-settings-are-left-alone")
async def test_thoughts_are_hidden_even_if_the_settings_cannot_be_written(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, thinks("deep thought", Text(text="Yes.")))
    file = app_fixture.fixture.write(".pi/agent/settings.json", "{}")
    async with app_fixture.running():
        app_fixture.type("\x14")
        await app_fixture.asks("one", "deep thought")
        file.write_text("{broken")
        app_fixture.type("\x14")
        await app_fixture.sees("✗ Invalid settings file")
        assert "deep thought" not in app_fixture.tape
        assert file.read_text() == "{broken"


async def test_a_failed_answer_is_reported_in_the_transcript(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, ProviderError("The key is wrong."))
    async with app_fixture.running():
        app_fixture.send("hello")
        await app_fixture.sees("✗ The key is wrong.")


async def test_text_of_the_model_cannot_send_control_sequences(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("a\x1b]0;owned\x07b\x1b[2Jc"))
    async with app_fixture.running():
        app_fixture.send("hello")
        await app_fixture.sees("abc")
        assert app_fixture.terminal.title == "π - project"


async def test_reloading_a_session_shows_the_same_conversation(tmp_path: Path) -> None:
    app_fixture = working(tmp_path)
    async with app_fixture.running():
        await app_fixture.asks("Be polite", "Hello {name}")
        before = app_fixture.tape
        assert app_fixture.commands is not None
        app_fixture.commands.ui.reload_session()
        await app_fixture.quiet()
        assert app_fixture.tape == before.replace("Thought for 1 s", "Thought")  # it is not stored


async def test_no_colours_are_written_on_terminals_without_colours(tmp_path: Path) -> None:
    answer = says("Fine, see `greet`.")
    app_fixture = AppFixture(tmp_path, answer, environ={"NO_COLOR": "1", "COLORTERM": ""})
    async with app_fixture.running():
        await app_fixture.asks("hello", "Fine, see `greet`.")
    assert "38;2" not in "".join(app_fixture.terminal.output)
    assert "48;" not in "".join(app_fixture.terminal.output)


async def test_the_indent_of_code_blocks_follows_the_setting(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("```\nprint(1)\n```"))
    app_fixture.fixture.write(".pi/agent/settings.json", '{"markdown": {"codeBlockIndent": "| "}}')
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("\n | print(1)")
