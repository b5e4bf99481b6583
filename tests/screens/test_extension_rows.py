from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import Text
from pi.testing import calls, says, thinks
from tests.screens.extended_app import extended
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


async def test_rows_of_an_extension_match_their_snapshot(tmp_path: Path) -> None:
    async with extended(tmp_path, SHOWING, says("An answer."), rows=20).running() as app_fixture:
        app_fixture.send("hello")
        await app_fixture.sees("An answer.")
        await app_fixture.sees("line 4")
        await app_fixture.rests()
        check("extension-rows", app_fixture.screen)
        assert "\x1b]0;my window\x07" in app_fixture.written


async def test_rows_removed_by_an_extension_disappear(tmp_path: Path) -> None:
    async with extended(tmp_path, SHOWING, rows=20).running() as app_fixture:
        await app_fixture.sees("line 4")
        app_fixture.send("/less")
        await app_fixture.loses("line 3")
        gone = ("A header", "write it", "first")
        assert [text for text in gone if text in app_fixture.screen] == []
        assert all(text in app_fixture.screen for text in ("a hint", "second", "line 4"))


async def test_an_extension_header_replaces_the_startup_lines(tmp_path: Path) -> None:
    app_fixture = extended(tmp_path, SHOWING, rows=20)
    app_fixture.lines = ("pi 1.0 · /help for commands",)
    async with app_fixture.running():
        await app_fixture.sees("A header of one's own")
        assert "/help for commands" not in app_fixture.screen
        app_fixture.send("/less")
        await app_fixture.sees("/help for commands")


async def test_a_status_is_rendered_by_the_view_registered_for_its_key(tmp_path: Path) -> None:
    source = """
    pi.add_view("status", "plan", lambda text, options, theme: f"[{text}]")
    pi.on("session_start", lambda event, ctx: ctx.ui.set_status("plan", "planning"))
    """
    async with extended(tmp_path, source).running() as app_fixture:
        await app_fixture.sees("[planning]")


async def test_a_changed_footer_line_repaints_only_itself(tmp_path: Path) -> None:
    async with extended(tmp_path, SHOWING, rows=20).running() as app_fixture:
        await app_fixture.sees("line 3")
        await app_fixture.quiet()
        written = len(app_fixture.written)
        app_fixture.send("/change another line")
        await app_fixture.sees("another line\n")
        await app_fixture.loses("line 3")
        assert "write it" not in app_fixture.written[written:]


async def test_extension_footer_lines_are_hidden_on_a_low_screen(tmp_path: Path) -> None:
    source = """
    class Line:
        def render(self, width):
            return ["line 3"]

    @pi.on("session_start")
    def show(event, ctx):
        ctx.ui.add_footer_line("x", Line())
        ctx.ui.notify("started")
    """
    async with extended(tmp_path, source, rows=7).running() as app_fixture:
        await app_fixture.sees("started")
        await app_fixture.sees("(faux) faux")
        assert "line 3" not in app_fixture.screen
        app_fixture.terminal.resize(80, 10)
        await app_fixture.sees("line 3")


@pytest.mark.behaviour("stale-handles-raise")
async def test_a_new_session_removes_the_rows_of_extensions(tmp_path: Path) -> None:
    source = SHOWING.replace('@pi.on("session_start")', '@pi.command("show")').replace(
        "def show(event", "async def show(args"
    )
    async with extended(tmp_path, source, rows=20).running() as app_fixture:
        app_fixture.send("/show")
        await app_fixture.sees("line 4")
        app_fixture.send("/fresh")
        await app_fixture.loses("line 4")
        shown = ("A header", "write it", "a hint", "first", "line 3")
        assert [text for text in shown if text in app_fixture.screen] == []
        assert app_fixture.written.rindex("π - ") > app_fixture.written.rindex("my window")


async def test_an_extension_can_replace_and_restore_the_footer(
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
    async with extended(tmp_path, source).running() as app_fixture:
        await app_fixture.sees("planning")
        app_fixture.send("/footer")
        await app_fixture.sees("{'plan': 'planning'}")
        assert "80 columns" in app_fixture.screen
        assert "(faux) faux" not in app_fixture.screen
        app_fixture.send("/footer usual")
        await app_fixture.sees("(faux) faux")
        await app_fixture.sees("\nplanning")
        assert "80 columns" not in app_fixture.screen


async def test_a_component_whose_render_raises_is_reported_once(tmp_path: Path) -> None:
    source = """
    class Broken:
        def render(self, width):
            raise ValueError("no rows")

    @pi.command("show")
    async def show(args, ctx):
        ctx.ui.set_widget("w", Broken)
        ctx.ui.add_footer_line("x", Broken())
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("/show")
        await app_fixture.sees("no rows")
        await app_fixture.quiet()
        app_fixture.type("still here")
        await app_fixture.sees("still here")
        assert app_fixture.screen.count("no rows") == 2  # the widget, and the line


async def test_widgets_and_statuses_cannot_send_control_sequences(tmp_path: Path) -> None:
    source = """
    @pi.on("session_start")
    def show(event, ctx):
        ctx.ui.set_widget("w", ["\\x1b[31mred\\x1b[0m \\x1b]0;owned\\x07 wide" + "!" * 100])
        ctx.ui.set_status("s", "two\\nlines \\x1b[2J")
    """
    async with extended(tmp_path, source).running() as app_fixture:
        await app_fixture.sees("red  wide!!!")
        await app_fixture.sees("two lines")
        assert "owned" not in app_fixture.written


async def test_facts_set_by_an_extension_can_be_read(tmp_path: Path) -> None:
    source = """
    pi.on("session_start", lambda event, ctx: ctx.ui.set_fact("sandbox", "strict"))
    pi.command("facts")(lambda args, ctx: ctx.ui.notify(f"Facts: {dict(ctx.ui.facts)}"))
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("/facts")
        await app_fixture.sees("Facts: {'sandbox': 'strict'}")


async def test_an_extension_configures_the_working_indicator(tmp_path: Path) -> None:
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
    app_fixture = extended(tmp_path, source, *steps)
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("◐ Pondering")
        app_fixture.send("/hide")
        await app_fixture.loses("Pondering")
        await gate.open()
        await app_fixture.sees("Done.")


async def test_an_extension_expands_tools_and_labels_hidden_thoughts(tmp_path: Path) -> None:
    source = """
    @pi.command("open")
    async def open(args, ctx):
        before = ctx.ui.get_tools_expanded()
        ctx.ui.set_tools_expanded(expanded=True)
        ctx.ui.set_hidden_thinking_label("Hm…")
        ctx.ui.notify(f"{before} {ctx.ui.get_tools_expanded()}")
    """
    steps = (calls("bash", command="seq 1 9"), thinks("so many", Text(text="Done.")))
    app_fixture = extended(tmp_path, source, *steps, rows=40)
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Done.")
        await app_fixture.sees("Thought for 1 s (ctrl+t)")
        app_fixture.send("/open")
        await app_fixture.sees("False True")
        await app_fixture.sees("Hm…")
        await app_fixture.sees("   1\n   2")


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
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("/colours")
        await app_fixture.sees('True True None True False Unknown theme "nope".')
        assert app_fixture.session is not None
        assert app_fixture.session.settings.values.theme == "light"


async def test_extension_rows_and_input_listeners_work_in_fullscreen_mode(tmp_path: Path) -> None:
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
    app_fixture = extended(tmp_path, source)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"tuiMode": "fullscreen"}')
    async with app_fixture.running():
        await app_fixture.until(lambda: app_fixture.screen.count("line 3") == 2)
        assert app_fixture.screen.rindex("a widget") < app_fixture.screen.rindex("line 3")
        app_fixture.type("\x1b[5~")  # listeners also receive keys that scroll
        await app_fixture.sees(r"heard '\x1b[5~'")


async def test_a_failed_compaction_shows_the_reasons_of_strategy_and_summary(
    tmp_path: Path,
) -> None:
    picky = """
    class Picky:
        keeps = "nothing"

        async def compact(self, work):
            return Declined(why="The model wrote no document.")

    pi.add_compaction("picky", Picky())

    @pi.command("shrink")
    async def shrink(args, ctx):
        ctx.compact(strategy="picky")
    """
    async with extended(tmp_path, picky, says("Hello.")).running() as app_fixture:
        await app_fixture.asks("go", "Hello.")
        app_fixture.send("/shrink")
        await app_fixture.sees(
            "✗ Compaction failed: The model wrote no document. Nothing to compact"
        )
