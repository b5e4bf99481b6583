from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import says
from tests.screens.extended_app import extended

ENTER, ESCAPE, TAB, CTRL_P = "\r", "\x1b", "\t", "\x10"
F5, F6 = "\x1b[15~", "\x1b[17~"


async def test_an_extension_reads_and_writes_the_editor_text(tmp_path: Path) -> None:
    source = """
    async def shout(ctx):
        ctx.ui.set_editor_text(ctx.ui.get_editor_text().upper())
        ctx.ui.paste_to_editor("!")

    pi.register_shortcut("f5", shout)
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.type("quiet words")
        app_fixture.type(F5)
        await app_fixture.sees("QUIET WORDS!")


@pytest.mark.behaviour("paste-markers-are-atomic")
async def test_an_extension_reads_long_pastes_in_full(tmp_path: Path) -> None:
    source = """
    def count(ctx):
        ctx.ui.notify(f"{len(ctx.ui.get_editor_text().splitlines())} lines")

    pi.register_shortcut("f5", count)
    """
    async with extended(tmp_path, source).running() as app_fixture:
        pasted = "\n".join(str(number) for number in range(20))
        app_fixture.type(f"\x1b[200~{pasted}\x1b[201~")
        await app_fixture.sees("[paste #1 +20 lines]")
        app_fixture.type(F5)
        await app_fixture.sees("20 lines\n")


async def test_an_extension_shortcut_runs_its_handler_and_errors_are_reported(
    tmp_path: Path,
) -> None:
    source = """
    @pi.shortcut("f5", description="count")
    async def press(ctx):
        ctx.ui.notify(f"pressed in {ctx.mode}")

    @pi.shortcut("f6")
    async def fail(ctx):
        raise ValueError("no such luck")
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.type(F5)
        await app_fixture.sees("pressed in tui")
        app_fixture.type(F6)
        await app_fixture.sees("shortcut:f6: no such luck")


async def test_a_shortcut_for_a_bound_or_unknown_key_is_rejected_and_reported(
    tmp_path: Path,
) -> None:
    source = """
    pi.register_shortcut("ctrl+p", lambda ctx: ctx.ui.notify("mine"))
    pi.register_shortcut("hyper+q", lambda ctx: None)
    pi.register_shortcut("ctrl+s", lambda ctx: ctx.ui.notify("free in the editor"))
    """
    async with extended(tmp_path, source, rows=40).running() as app_fixture:
        await app_fixture.sees("Extension shortcut ctrl+p: already bound to app.model.cycleForward")
        await app_fixture.sees("Extension shortcut hyper+q: unknown key")
        app_fixture.type(CTRL_P)
        await app_fixture.sees("Only one model is available.")
        app_fixture.type("\x13")
        await app_fixture.sees("free in the editor")
        assert "mine" not in app_fixture.screen


async def test_suggestions_of_an_extension_are_shown_and_applied(tmp_path: Path) -> None:
    source = """
    class Tickets:
        trigger_characters = "#"

        async def get_suggestions(self, lines, row, col, *, force):
            word = lines[row][:col].rpartition(" ")[2]
            if word.startswith("#"):
                ticket = {"value": "#42", "label": "#42", "description": "the answer"}
                return {"items": [ticket], "prefix": word}

    pi.on("session_start", lambda event, ctx: ctx.ui.add_autocomplete_provider(Tickets()))
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.type("see #")
        await app_fixture.sees("the answer")
        app_fixture.type(TAB)
        await app_fixture.loses("the answer")
        await app_fixture.sees("see #42")


async def test_a_completion_provider_that_raises_is_reported_once(tmp_path: Path) -> None:
    source = """
    class Broken:
        async def get_suggestions(self, lines, row, col, *, force):
            raise ValueError("no idea")

    pi.on("session_start", lambda event, ctx: ctx.ui.add_autocomplete_provider(Broken()))
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.type("/")
        await app_fixture.sees("no idea")
        await app_fixture.sees("model")
        assert app_fixture.screen.count("no idea") == 1


async def test_arguments_of_a_command_are_completed(tmp_path: Path) -> None:
    source = """
    async def wake(args, ctx):
        ctx.ui.notify(f"woke {args}")

    pi.register_command("wake", wake, completions=lambda prefix: ["all"])
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.type("/wake ")
        await app_fixture.sees("all")
        app_fixture.type(TAB)
        await app_fixture.sees("/wake all")


async def test_an_input_listener_can_consume_and_replace_keys(tmp_path: Path) -> None:
    source = """
    def listen(data):
        if data == "x":
            return {"consume": True}
        if data == "y":
            return {"data": "z"}

    @pi.on("session_start")
    def start(event, ctx):
        end = ctx.ui.on_terminal_input(listen)
        pi.register_shortcut("f5", lambda ctx: end())
        ctx.ui.notify("listening")
    """
    async with extended(tmp_path, source).running() as app_fixture:
        await app_fixture.sees("listening")
        app_fixture.type("a")
        app_fixture.type("x")
        app_fixture.type("y")
        await app_fixture.sees("\naz\n")
        app_fixture.type(F5)
        await app_fixture.quiet()
        app_fixture.type("x")
        await app_fixture.sees("\nazx\n")


async def test_an_input_listener_that_raises_is_removed_and_reported_once(tmp_path: Path) -> None:
    source = """
    def listen(data):
        raise ValueError("too loud")

    pi.on("session_start", lambda event, ctx: ctx.ui.on_terminal_input(listen))
    """
    async with extended(tmp_path, source, rows=40).running() as app_fixture:
        app_fixture.type("a")
        await app_fixture.sees("too loud")
        app_fixture.type("b")
        await app_fixture.sees("\nab\n")
        assert app_fixture.screen.count("too loud") == 1


EDITOR = """
class Loud:
    def __init__(self):
        self.text = ""

    def render(self, width):
        if "boom" in self.text:
            raise ValueError("too much")
        return [f"LOUD> {self.text.upper()}"]

    def get_text(self):
        return self.text

    def set_text(self, text):
        self.text = text

    def handle_input(self, data):
        if data == "\\r":
            self.on_submit(self.text)
        else:
            self.text += data

@pi.command("loud")
async def loud(args, ctx):
    ctx.ui.set_editor_component(None if args else lambda tui, theme, keys: Loud())
    ctx.ui.notify(f"now {type(ctx.ui.get_editor_component()).__name__}")

pi.register_shortcut("f5", lambda ctx: loud("off", ctx))
"""


async def test_an_extension_can_replace_the_editor(tmp_path: Path) -> None:
    async with extended(tmp_path, EDITOR, says("An answer.")).running() as app_fixture:
        app_fixture.send("/loud")
        await app_fixture.sees("LOUD>")
        await app_fixture.sees("now Loud")
        app_fixture.send("hello")
        await app_fixture.sees("An answer.")
        await app_fixture.sees("▌ hello")
        app_fixture.type("kept")
        await app_fixture.sees("LOUD> KEPT")
        app_fixture.type(F5)
        await app_fixture.sees("now NoneType")
        await app_fixture.sees("\nkept\n")


async def test_an_extension_editor_that_raises_is_replaced_by_the_usual_one(tmp_path: Path) -> None:
    async with extended(tmp_path, EDITOR).running() as app_fixture:
        app_fixture.send("/loud")
        await app_fixture.sees("LOUD>")
        app_fixture.type("boom")
        await app_fixture.sees("The editor of an extension failed: ValueError('too much')")
        await app_fixture.sees("\nboom\n")


async def test_an_invalid_editor_component_is_rejected(tmp_path: Path) -> None:
    source = """
    @pi.command("bad")
    async def bad(args, ctx):
        ctx.ui.set_editor_component(object)
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("/bad")
        await app_fixture.sees("get_text, set_text, handle_input.")
        app_fixture.type("still here")
        await app_fixture.sees("still here")


@pytest.mark.behaviour("stale-handles-raise")
async def test_a_new_session_restores_the_usual_editor_and_keys(tmp_path: Path) -> None:
    source = (
        EDITOR
        + """
@pi.command("deaf")
async def deaf(args, ctx):
    ctx.ui.on_terminal_input(lambda data: {"consume": data == "q"})
    await loud("", ctx)
"""
    )
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("/deaf")
        await app_fixture.sees("LOUD>")
        assert app_fixture.session is not None
        await app_fixture.session.new_session()
        await app_fixture.loses("LOUD>")
        app_fixture.type("quite usual")
        await app_fixture.sees("quite usual")


async def test_text_with_a_registered_prefix_is_handled_by_the_input_mode(tmp_path: Path) -> None:
    source = """
    async def run(text, ctx):
        ctx.ui.notify(f"ran {text!r}")

    pi.add_input_mode("$", InputMode(label="python", run=run))
    """
    async with extended(tmp_path, source).running() as app_fixture:
        await app_fixture.sees("(faux) faux")
        usual = app_fixture.terminal.style(0, 1)["fg"]
        app_fixture.type("$ 1 + 1")
        await app_fixture.sees("python")
        await app_fixture.until(lambda: app_fixture.terminal.style(0, 1)["fg"] != usual)
        app_fixture.type(ENTER)
        await app_fixture.sees("ran '1 + 1'")
        await app_fixture.loses("python")


async def test_an_input_mode_that_raises_is_reported(tmp_path: Path) -> None:
    source = """
    async def run(text, ctx):
        raise ValueError("no kernel")

    pi.add_input_mode("$", InputMode(label="python", run=run))
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("$ 1 + 1")
        await app_fixture.sees("no kernel")
