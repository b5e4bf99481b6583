from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.screens.extended_app import extended
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
    app_fixture = extended(tmp_path, NOTES, says("An answer."), rows=30, columns=60)
    async with app_fixture.running():
        app_fixture.send("/note remember")
        await app_fixture.sees("remember folded")
        app_fixture.send("/note plain")
        await app_fixture.sees("note\n plain")
        app_fixture.send("/mark here")
        await app_fixture.sees("~ here ~")
        app_fixture.send("hello")
        await app_fixture.sees("An answer.")
        app_fixture.type(CTRL_O)
        await app_fixture.sees("remember whole")
        assert "unknown draws this" not in app_fixture.tape
        await app_fixture.rests()
        check("extension-views", app_fixture.screen)


async def test_entries_of_an_extension_keep_their_position_after_a_reload(tmp_path: Path) -> None:
    steps = (says("First answer."), says("Second answer."))
    app_fixture = extended(tmp_path, NOTES, *steps, rows=40)
    async with app_fixture.running():
        await app_fixture.asks("one", "First answer.")
        app_fixture.send("/mark between")
        await app_fixture.sees("~ between ~")
        await app_fixture.asks("two", "Second answer.")
        assert app_fixture.commands is not None
        app_fixture.commands.ui.reload_session()
        await app_fixture.sees("Second answer.")
        await app_fixture.quiet()
        places = [app_fixture.screen.index(text) for text in ("First", "~ between ~", "two")]
        assert places == sorted(places)


async def test_a_view_that_raises_is_reported_once_and_the_default_view_is_used(
    tmp_path: Path,
) -> None:
    async with extended(tmp_path, NOTES, rows=40).running() as app_fixture:
        app_fixture.send("/note bad")
        await app_fixture.sees("cannot draw this")
        await app_fixture.sees("note\n bad")
        app_fixture.send("/note again")
        await app_fixture.sees("note\n again")
        assert app_fixture.screen.count("cannot draw this") == 1


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
    async with extended(tmp_path, TOOL, *steps).running() as app_fixture:
        app_fixture.send("go")
        await app_fixture.sees("Done.")
        await app_fixture.sees("✓ dice with 6 sides")
        await app_fixture.sees("done: four")


async def test_a_tool_whose_view_raises_is_rendered_by_the_default_view(tmp_path: Path) -> None:
    steps = (calls("dice", sides=0), says("Done."))
    async with extended(tmp_path, TOOL, *steps, rows=40).running() as app_fixture:
        app_fixture.send("go")
        await app_fixture.sees("Done.")
        await app_fixture.sees("✓ dice sides=0")
        await app_fixture.sees("no such dice")
        await app_fixture.quiet()
        assert app_fixture.screen.count("no such dice") == 1


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
        async with extended(tmp_path, source).running() as app_fixture:
            assert "late_views_of_a_story" not in sys.modules
            app_fixture.send("/late but here")
            await app_fixture.sees("late: but here")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("late_views_of_a_story", None)


async def test_an_extension_transforms_markdown_before_it_is_rendered(tmp_path: Path) -> None:
    source = """
    def transform(text, about):
        assert about["available_width"] == 80
        return text.replace(":smile:", f"☺ ({about['message_type']})")

    pi.register_markdown_transformer(transform)
    """
    steps = (says("Well :smile:"),)
    async with extended(tmp_path, source, *steps).running() as app_fixture:
        app_fixture.send("Hi :smile:")
        await app_fixture.sees("Hi ☺ (user)")
        await app_fixture.sees("Well ☺ (assistant)")


@pytest.mark.parametrize("lines", [1, 100])
async def test_markdown_is_transformed_again_when_the_answer_is_complete(
    tmp_path: Path, lines: int
) -> None:
    source = """
    def transform(text, about):
        return text + (" (growing)" if about["is_streaming"] else " (complete)")

    pi.register_markdown_transformer(transform)
    """
    answer = "\n\n".join(f"paragraph {number}." for number in range(lines))
    async with extended(tmp_path, source, says(answer)).running() as app_fixture:
        app_fixture.send("Hi")
        await app_fixture.sees(f"paragraph {lines - 1}. (complete)")
        assert "(growing)" not in app_fixture.tape
        assert [app_fixture.tape.count(f"paragraph {number}.") for number in range(lines)] == [
            1
        ] * lines


@pytest.mark.behaviour("stale-handles-raise")
async def test_reloading_replaces_everything_that_the_extension_registered(tmp_path: Path) -> None:
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
    app_fixture = extended(tmp_path, source, rows=40)
    async with app_fixture.running():
        app_fixture.send("/note x")
        await app_fixture.sees("first note")
        await app_fixture.sees("the first version")
        app_fixture.file.write_text(app_fixture.file.read_text().replace("first", "second"))
        app_fixture.send("/again")
        await app_fixture.sees("the second version")
        await app_fixture.sees("second note")
        app_fixture.type("\x1b[15~")
        await app_fixture.sees("second key")
        assert "first" not in app_fixture.screen


async def test_the_screen_shows_a_new_session_started_by_an_extension(tmp_path: Path) -> None:
    source = """
    @pi.command("fresh")
    async def fresh(args, ctx):
        await ctx.new_session(with_session=greet)

    async def greet(ctx):
        ctx.ui.notify("in another session")
    """
    async with extended(tmp_path, source, says("An old answer.")).running() as app_fixture:
        await app_fixture.asks("hello", "An old answer.")
        app_fixture.send("/fresh")
        await app_fixture.sees("in another session")
        await app_fixture.loses("An old answer.")


@pytest.mark.behaviour("extensions-load-once")
async def test_messages_and_notices_sent_at_session_start_appear_once(tmp_path: Path) -> None:
    source = """
    @pi.on("session_start")
    async def start(event, ctx):
        said = CustomMessage(custom_type="hello", content=f"because of {event.reason}")
        await pi.send_message(said)
        ctx.ui.notify(f"noticed {event.reason}", "warning")
    """
    async with extended(tmp_path, source, rows=40).running() as app_fixture:
        await app_fixture.sees("noticed startup")
        assert app_fixture.screen.count("because of startup") == 1
        assert app_fixture.session is not None
        await app_fixture.session.sessions.new()
        await app_fixture.sees("noticed new")
        await app_fixture.quiet()
        assert (app_fixture.screen.count("because of"), app_fixture.screen.count("noticed")) == (
            1,
            1,
        )


async def test_an_extension_ends_the_program(tmp_path: Path) -> None:
    source = 'pi.command("leave")(lambda args, ctx: ctx.shutdown())'
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("/leave")
        await app_fixture.until(lambda: app_fixture.app.has_ended)
