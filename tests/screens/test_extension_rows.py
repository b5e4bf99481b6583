from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import Text
from pi.testing import calls, says, thinks
from tests.screens.extended import extended
from tests.screens.snapshots import check

SHOWING = """
class Line:
    def __init__(self, text):
        self.text = text

    def render(self, width):
        return [self.text]

line = Line("line 3")

@pi.on("session_start")
def show(event, ctx):
    ui = ctx.ui
    ui.set_widget("todo", ["[ ] write it", "[ ] read it"])
    ui.set_widget("hint", lambda tui, theme: Line(theme.bold("a hint")), placement="belowEditor")
    ui.set_header(lambda tui, theme: Line("A header of one's own"))
    ui.set_status("b", "second")
    ui.set_status("a", "first")
    ui.set_rows("late", Line("line 4"), order=1)
    pi.handle = ui.add_footer_line("early", line)
    ui.set_title("my window")

@pi.command("change")
async def change(args, ctx):
    line.text = args
    pi.handle.invalidate()

@pi.command("less")
async def less(args, ctx):
    ctx.ui.set_widget("todo", None)
    ctx.ui.set_status("a", None)
    ctx.ui.set_header(None)
    pi.handle.remove()

pi.command("fresh")(lambda args, ctx: ctx.new_session())
"""


async def test_everything_that_an_extension_shows_has_its_place(tmp_path: Path) -> None:
    async with extended(tmp_path, SHOWING, says("An answer."), rows=20).playing() as theatre:
        theatre.send("hello")
        await theatre.sees("An answer.")
        await theatre.sees("line 4")
        await theatre.rests()
        check("extension-rows", theatre.screen)
        assert "\x1b]0;my window\x07" in theatre.written


async def test_what_is_taken_back_is_gone(tmp_path: Path) -> None:
    async with extended(tmp_path, SHOWING, rows=20).playing() as theatre:
        await theatre.sees("line 4")
        theatre.send("/less")
        await theatre.loses("line 3")
        gone = ("A header", "write it", "first")
        assert [text for text in gone if text in theatre.screen] == []
        assert all(text in theatre.screen for text in ("a hint", "second", "line 4"))


async def test_a_header_takes_the_place_of_what_is_reported_at_the_start(tmp_path: Path) -> None:
    theatre = extended(tmp_path, SHOWING, rows=20)
    theatre.lines = ("pi 1.0 · /help for commands",)
    async with theatre.playing():
        await theatre.sees("A header of one's own")
        assert "/help for commands" not in theatre.screen
        theatre.send("/less")
        await theatre.sees("/help for commands")


async def test_a_status_is_drawn_by_the_view_of_its_key(tmp_path: Path) -> None:
    source = """
    pi.add_view("status", "plan", lambda text, options, theme: f"[{text}]")
    pi.on("session_start", lambda event, ctx: ctx.ui.set_status("plan", "planning"))
    """
    async with extended(tmp_path, source).playing() as theatre:
        await theatre.sees("[planning]")


async def test_a_line_below_the_footer_is_painted_alone(tmp_path: Path) -> None:
    async with extended(tmp_path, SHOWING, rows=20).playing() as theatre:
        await theatre.sees("line 3")
        await theatre.quiet()
        written = len(theatre.written)
        theatre.send("/change another line")
        await theatre.sees("another line\n")
        await theatre.loses("line 3")
        assert "write it" not in theatre.written[written:]


async def test_a_low_screen_keeps_only_the_footer_itself(tmp_path: Path) -> None:
    source = """
    class Line:
        def render(self, width):
            return ["line 3"]

    @pi.on("session_start")
    def show(event, ctx):
        ctx.ui.add_footer_line("x", Line())
        ctx.ui.notify("started")
    """
    async with extended(tmp_path, source, rows=7).playing() as theatre:
        await theatre.sees("started")
        await theatre.sees("(faux) faux")
        assert "line 3" not in theatre.screen
        theatre.terminal.resize(80, 10)
        await theatre.sees("line 3")


@pytest.mark.behaviour("stale-handles-raise")
async def test_another_session_begins_with_nothing_of_the_one_before(tmp_path: Path) -> None:
    source = SHOWING.replace('@pi.on("session_start")', '@pi.command("show")').replace(
        "def show(event", "async def show(args"
    )
    async with extended(tmp_path, source, rows=20).playing() as theatre:
        theatre.send("/show")
        await theatre.sees("line 4")
        theatre.send("/fresh")
        await theatre.loses("line 4")
        shown = ("A header", "write it", "a hint", "first", "line 3")
        assert [text for text in shown if text in theatre.screen] == []
        assert theatre.written.rindex("π - ") > theatre.written.rindex("my window")


async def test_a_footer_of_an_extension_stands_in_the_place_of_the_usual_one(
    tmp_path: Path,
) -> None:
    source = """
    class Footer:
        def __init__(self, data):
            self.data = data

        def render(self, width):
            return [f"{self.data.statuses} {self.data.branch}", f"{width} columns"]

    pi.on("session_start", lambda event, ctx: ctx.ui.set_status("plan", "planning"))

    @pi.command("footer")
    async def footer(args, ctx):
        ctx.ui.set_footer(None if args else lambda tui, theme, data: Footer(data))
    """
    async with extended(tmp_path, source).playing() as theatre:
        await theatre.sees("planning")
        theatre.send("/footer")
        await theatre.sees("{'plan': 'planning'}")
        assert "80 columns" in theatre.screen
        assert "(faux) faux" not in theatre.screen
        theatre.send("/footer usual")
        await theatre.sees("(faux) faux")
        await theatre.sees("\nplanning")
        assert "80 columns" not in theatre.screen


async def test_a_component_that_cannot_be_drawn_is_reported_once(tmp_path: Path) -> None:
    source = """
    class Broken:
        def render(self, width):
            raise ValueError("no rows")

    @pi.command("show")
    async def show(args, ctx):
        ctx.ui.set_widget("w", Broken)
        ctx.ui.add_footer_line("x", Broken())
    """
    async with extended(tmp_path, source).playing() as theatre:
        theatre.send("/show")
        await theatre.sees("no rows")
        await theatre.quiet()
        theatre.type("still here")
        await theatre.sees("still here")
        assert theatre.screen.count("no rows") == 2  # the widget, and the line


async def test_lines_of_a_widget_cannot_command_the_terminal(tmp_path: Path) -> None:
    source = """
    @pi.on("session_start")
    def show(event, ctx):
        ctx.ui.set_widget("w", ["\\x1b[31mred\\x1b[0m \\x1b]0;owned\\x07 wide" + "!" * 100])
        ctx.ui.set_status("s", "two\\nlines \\x1b[2J")
    """
    async with extended(tmp_path, source).playing() as theatre:
        await theatre.sees("red  wide!!!")
        await theatre.sees("two lines")
        assert "owned" not in theatre.written


async def test_facts_are_reported_to_other_extensions(tmp_path: Path) -> None:
    source = """
    pi.on("session_start", lambda event, ctx: ctx.ui.set_fact("sandbox", "strict"))
    pi.command("facts")(lambda args, ctx: ctx.ui.notify(f"Facts: {dict(ctx.ui.facts)}"))
    """
    async with extended(tmp_path, source).playing() as theatre:
        theatre.send("/facts")
        await theatre.sees("Facts: {'sandbox': 'strict'}")


async def test_an_extension_says_how_work_is_shown(tmp_path: Path) -> None:
    source = """
    @pi.on("session_start")
    def start(event, ctx):
        ctx.ui.set_working_indicator(["◐"], 1.0)
        ctx.ui.set_working_message("Pondering")

    @pi.command("hide")
    async def hide(args, ctx):
        ctx.ui.set_working_visible(visible=False)
    """
    steps = (calls("bash", command="cat gate"), says("Done."))
    theatre = extended(tmp_path, source, *steps)
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("◐ Pondering")
        theatre.send("/hide")
        await theatre.loses("Pondering")
        await gate.open()
        await theatre.sees("Done.")


async def test_an_extension_folds_and_unfolds_and_names_hidden_thoughts(tmp_path: Path) -> None:
    source = """
    @pi.command("open")
    async def open(args, ctx):
        before = ctx.ui.get_tools_expanded()
        ctx.ui.set_tools_expanded(expanded=True)
        ctx.ui.set_hidden_thinking_label("Hm…")
        ctx.ui.notify(f"{before} {ctx.ui.get_tools_expanded()}")
    """
    steps = (calls("bash", command="seq 1 9"), thinks("so many", Text(text="Done.")))
    theatre = extended(tmp_path, source, *steps, rows=40)
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Done.")
        await theatre.sees("Thought for 1 s (ctrl+t)")
        theatre.send("/open")
        await theatre.sees("False True")
        await theatre.sees("Hm…")
        await theatre.sees("   1\n   2")


async def test_an_extension_chooses_a_theme(tmp_path: Path) -> None:
    source = """
    @pi.command("colours")
    async def colours(args, ctx):
        ui = ctx.ui
        before = ui.theme.fg("accent", "x")
        light, none = ui.get_theme("light"), ui.get_theme("nope")
        done, failed = ui.set_theme("light"), ui.set_theme("nope")
        after = ui.theme.fg("accent", "x")
        same = after == light.fg("accent", "x") != before
        themes = "light" in ui.get_all_themes()
        ui.notify(f"{same} {themes} {none} {done.success} {failed.success} {failed.error}")
    """
    async with extended(tmp_path, source).playing() as theatre:
        theatre.send("/colours")
        await theatre.sees('True True None True False Unknown theme "nope".')
        assert theatre.session is not None
        assert theatre.session.settings.values.theme == "light"


async def test_the_whole_screen_has_the_same_places(tmp_path: Path) -> None:
    source = """
    class Line:
        def render(self, width):
            return ["line 3"]

    @pi.on("session_start")
    def start(event, ctx):
        ctx.ui.set_header(lambda: Line())
        ctx.ui.set_widget("w", ["a widget"])
        ctx.ui.add_footer_line("x", Line())
        ctx.ui.on_terminal_input(lambda data: ctx.ui.notify(f"heard {data!r}"))
    """
    theatre = extended(tmp_path, source)
    theatre.stage.write(".pi/agent/settings.json", '{"tuiMode": "fullscreen"}')
    async with theatre.playing():
        await theatre.until(lambda: theatre.screen.count("line 3") == 2)
        assert theatre.screen.rindex("a widget") < theatre.screen.rindex("line 3")
        theatre.type("\x1b[5~")  # a key that scrolls is heard, too
        await theatre.sees(r"heard '\x1b[5~'")
