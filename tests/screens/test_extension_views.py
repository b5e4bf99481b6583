from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.screens.extended import extended
from tests.screens.snapshots import check

CTRL_O = "\x0f"

NOTES = """
class Note:
    def __init__(self, text):
        self.text = text

    def render(self, width):
        return ["+" + "-" * (width - 2) + "+", self.text]

def draw(message, options, theme):
    if message.content == "plain":
        return None
    if message.content == "bad":
        raise ValueError("cannot draw this")
    return Note(f"{message.content} {'whole' if options.expanded else 'folded'}")

pi.register_message_renderer("note", draw)
pi.register_entry_renderer("mark", lambda entry, options, theme: f"~ {entry.data} ~")

@pi.command("note")
async def note(args, ctx):
    await pi.send_message(CustomMessage(custom_type="note", content=args))

@pi.command("mark")
async def mark(args, ctx):
    await pi.append_entry("mark", args)
    await pi.append_entry("unseen", "unknown draws this")
"""


async def test_an_extension_draws_its_messages_and_entries(tmp_path: Path) -> None:
    theatre = extended(tmp_path, NOTES, says("An answer."), rows=30, columns=60)
    async with theatre.playing():
        theatre.send("/note remember")
        await theatre.sees("remember folded")
        theatre.send("/note plain")
        await theatre.sees("note\n plain")
        theatre.send("/mark here")
        await theatre.sees("~ here ~")
        theatre.send("hello")
        await theatre.sees("An answer.")
        theatre.type(CTRL_O)
        await theatre.sees("remember whole")
        assert "unknown draws this" not in theatre.tape
        await theatre.rests()
        check("extension-views", theatre.screen)


async def test_entries_of_an_extension_are_drawn_again_where_they_were(tmp_path: Path) -> None:
    steps = (says("First answer."), says("Second answer."))
    theatre = extended(tmp_path, NOTES, *steps, rows=40)
    async with theatre.playing():
        await theatre.asks("one", "First answer.")
        theatre.send("/mark between")
        await theatre.sees("~ between ~")
        await theatre.asks("two", "Second answer.")
        assert theatre.commands is not None
        theatre.commands.ui.reload_session()
        await theatre.sees("Second answer.")
        await theatre.quiet()
        places = [theatre.screen.index(text) for text in ("First", "~ between ~", "two")]
        assert places == sorted(places)


async def test_a_view_that_fails_is_reported_once_and_the_usual_one_draws(tmp_path: Path) -> None:
    async with extended(tmp_path, NOTES, rows=40).playing() as theatre:
        theatre.send("/note bad")
        await theatre.sees("cannot draw this")
        await theatre.sees("note\n bad")
        theatre.send("/note again")
        await theatre.sees("note\n again")
        assert theatre.screen.count("cannot draw this") == 1


TOOL = """
@pi.tool
async def dice(sides: int) -> str:
    \"\"\"Throw dice.\"\"\"
    return "four"

def draw(call, options, theme):
    if call.arguments.get("sides") == 0:
        raise ValueError("no such dice")
    return [f"with {call.arguments.get('sides')} sides", f"{call.state}: {call.text}"]

pi.add_view("tool", "dice", draw)
"""


async def test_an_extension_draws_its_tools(tmp_path: Path) -> None:
    steps = (calls("dice", sides=6), says("Done."))
    async with extended(tmp_path, TOOL, *steps).playing() as theatre:
        theatre.send("go")
        await theatre.sees("Done.")
        await theatre.sees("✓ dice with 6 sides")
        await theatre.sees("done: four")


async def test_a_tool_whose_view_fails_is_drawn_as_any_other(tmp_path: Path) -> None:
    steps = (calls("dice", sides=0), says("Done."))
    async with extended(tmp_path, TOOL, *steps, rows=40).playing() as theatre:
        theatre.send("go")
        await theatre.sees("Done.")
        await theatre.sees("✓ dice sides=0")
        await theatre.sees("no such dice")
        await theatre.quiet()
        assert theatre.screen.count("no such dice") == 1


async def test_a_view_is_imported_when_it_is_first_drawn(tmp_path: Path) -> None:
    source = """
    pi.add_view("message", "late", "late_views_of_a_story:draw")

    @pi.command("late")
    async def late(args, ctx):
        await pi.send_message(CustomMessage(custom_type="late", content=args))
    """
    folder = tmp_path / "modules"
    folder.mkdir()
    view = "def draw(message, options, theme):\n    return 'late: ' + message.content\n"
    (folder / "late_views_of_a_story.py").write_text(view)
    sys.path.append(str(folder))
    try:
        async with extended(tmp_path, source).playing() as theatre:
            assert "late_views_of_a_story" not in sys.modules
            theatre.send("/late but here")
            await theatre.sees("late: but here")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("late_views_of_a_story", None)


async def test_an_extension_changes_markdown_before_it_is_drawn(tmp_path: Path) -> None:
    source = """
    def transform(text, about):
        assert about["available_width"] == 80
        return text.replace(":smile:", f"☺ ({about['message_type']})")

    pi.register_markdown_transformer(transform)
    """
    steps = (says("Well :smile:"),)
    async with extended(tmp_path, source, *steps).playing() as theatre:
        theatre.send("Hi :smile:")
        await theatre.sees("Hi ☺ (user)")
        await theatre.sees("Well ☺ (assistant)")


@pytest.mark.parametrize("lines", [1, 100])
async def test_markdown_is_changed_once_more_when_the_answer_is_complete(
    tmp_path: Path, lines: int
) -> None:
    source = """
    def transform(text, about):
        return text + (" (growing)" if about["is_streaming"] else " (complete)")

    pi.register_markdown_transformer(transform)
    """
    answer = "\n\n".join(f"paragraph {number}." for number in range(lines))
    async with extended(tmp_path, source, says(answer)).playing() as theatre:
        theatre.send("Hi")
        await theatre.sees(f"paragraph {lines - 1}. (complete)")
        assert "(growing)" not in theatre.tape
        assert [theatre.tape.count(f"paragraph {number}.") for number in range(lines)] == [
            1
        ] * lines


@pytest.mark.behaviour("stale-handles-raise")
async def test_reloading_brings_what_the_file_says_now_and_nothing_else(tmp_path: Path) -> None:
    source = """
    pi.on("session_start", lambda event, ctx: ctx.ui.set_widget("w", ["the first version"]))
    pi.register_message_renderer("note", lambda message, options, theme: "first note")
    pi.register_shortcut("f5", lambda ctx: ctx.ui.notify("first key"))

    @pi.command("note")
    async def note(args, ctx):
        await pi.send_message(CustomMessage(custom_type="note", content=args))

    @pi.command("again")
    async def again(args, ctx):
        await ctx.reload()
    """
    theatre = extended(tmp_path, source, rows=40)
    async with theatre.playing():
        theatre.send("/note x")
        await theatre.sees("first note")
        await theatre.sees("the first version")
        theatre.file.write_text(theatre.file.read_text().replace("first", "second"))
        theatre.send("/again")
        await theatre.sees("the second version")
        await theatre.sees("second note")
        theatre.type("\x1b[15~")
        await theatre.sees("second key")
        assert "first" not in theatre.screen


async def test_an_extension_begins_another_session_and_the_screen_follows(tmp_path: Path) -> None:
    source = """
    @pi.command("fresh")
    async def fresh(args, ctx):
        await ctx.new_session(with_session=greet)

    async def greet(ctx):
        ctx.ui.notify("in another session")
    """
    async with extended(tmp_path, source, says("An old answer.")).playing() as theatre:
        await theatre.asks("hello", "An old answer.")
        theatre.send("/fresh")
        await theatre.sees("in another session")
        await theatre.loses("An old answer.")


@pytest.mark.behaviour("extensions-load-once")
async def test_what_is_said_when_a_session_starts_appears_once(tmp_path: Path) -> None:
    source = """
    @pi.on("session_start")
    async def start(event, ctx):
        said = CustomMessage(custom_type="hello", content=f"because of {event.reason}")
        await pi.send_message(said)
        ctx.ui.notify(f"noticed {event.reason}", "warning")
    """
    async with extended(tmp_path, source, rows=40).playing() as theatre:
        await theatre.sees("noticed startup")
        assert theatre.screen.count("because of startup") == 1
        assert theatre.session is not None
        await theatre.session.sessions.new()
        await theatre.sees("noticed new")
        await theatre.quiet()
        assert (theatre.screen.count("because of"), theatre.screen.count("noticed")) == (1, 1)


async def test_an_extension_ends_the_program(tmp_path: Path) -> None:
    source = 'pi.command("leave")(lambda args, ctx: ctx.shutdown())'
    async with extended(tmp_path, source).playing() as theatre:
        theatre.send("/leave")
        await theatre.until(lambda: theatre.app.has_ended)
