from __future__ import annotations

from pathlib import Path

import pytest

from pi.modes.interactive.composer.prompt import PAUSE_SECONDS
from pi.testing import calls, says
from tests.sampling import sampled
from tests.screens.extended_app import extended

ENTER, ESCAPE, DOWN = "\r", "\x1b", "\x1b[B"

ASKING = """
@pi.command("ask")
async def ask(args, ctx):
    ctx.ui.notify(f"Answer: {await question(args, ctx)!r}")

async def question(args, ctx):
    match args:
        case "select":
            fruit = [Option(label="apple", description="is red"), "pear"]
            return await ctx.ui.select("Which fruit?", fruit)
        case "confirm":
            return await ctx.ui.confirm("Sure?", "There is no way back.")
        case "input":
            return await ctx.ui.input("Your name?", "Ada")
        case "secret":
            return await ctx.ui.input("Your key?", secret=True)
        case "editor":
            return await ctx.ui.editor("Your story?", "Once upon")
        case "late":
            return await ctx.ui.confirm("Quick?", "You have a second.", timeout=1)
"""


@pytest.mark.parametrize(
    ("kind", "shown", "keys", "answer"),
    sampled(
        [
            ("select", "apple  is red", [DOWN, ENTER], "'pear'"),
            ("select", "Which fruit?", [ESCAPE], "None"),
            ("confirm", "There is no way back.", [ENTER], "True"),
            ("confirm", "There is no way back.", [ESCAPE], "False"),
            ("input", "Your name?", ["Grace", ENTER], "'Grace'"),
            ("input", "Your name?", [ESCAPE], "None"),
            ("editor", "Your story?", [" a time", ENTER], "'Once upon a time'"),
            ("editor", "Your story?", [ESCAPE], "None"),
        ],
        keep=3,
    ),
)
async def test_an_extension_dialog_returns_the_answer_of_the_user(
    tmp_path: Path, kind: str, shown: str, keys: list[str], answer: str
) -> None:
    async with extended(tmp_path, ASKING).running() as app_fixture:
        app_fixture.send(f"/ask {kind}")
        await app_fixture.sees(shown)
        for key in keys:
            app_fixture.type(key)
        await app_fixture.sees(f"Answer: {answer}")
        assert shown not in app_fixture.screen


async def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    async with extended(tmp_path, ASKING).running() as app_fixture:
        app_fixture.send("/ask secret")
        await app_fixture.sees("Your key?")
        app_fixture.type("hush")
        await app_fixture.sees("••••")
        assert "hush" not in app_fixture.tape
        app_fixture.type(ESCAPE)
        await app_fixture.sees("Answer: None")


async def test_a_dialog_closes_when_it_times_out(tmp_path: Path) -> None:
    async with extended(tmp_path, ASKING).running() as app_fixture:
        app_fixture.send("/ask late")
        await app_fixture.sees("You have a second.")
        assert "Quick? (1s)" in app_fixture.screen
        await app_fixture.clock.advance(2.0)
        await app_fixture.sees("Answer: False")
        assert "You have a second." not in app_fixture.screen


@pytest.mark.behaviour("drafts-are-kept")
async def test_the_draft_is_kept_while_a_dialog_is_open(tmp_path: Path) -> None:
    source = """
    @pi.on("tool_call")
    async def ask(event, ctx):
        if not await ctx.ui.confirm("Run it?", event.input["command"]):
            return Block(reason="No.")
    """
    steps = (calls("bash", command="true"), says("Done."))
    async with extended(tmp_path, source, *steps).running() as app_fixture:
        app_fixture.send("go")
        app_fixture.type("half a sentence")
        await app_fixture.sees("half a sentence")
        await app_fixture.clock.advance(PAUSE_SECONDS)
        await app_fixture.sees("Run it?")
        app_fixture.type(ENTER)
        await app_fixture.sees("Done.")
        await app_fixture.sees("half a sentence")


async def test_concurrent_dialogs_are_shown_one_after_the_other(tmp_path: Path) -> None:
    source = """
    @pi.command("both")
    async def both(args, ctx):
        answers = await asyncio.gather(
            ctx.ui.input("First?"), ctx.ui.input("Second?"), ctx.ui.confirm("Third?", "")
        )
        ctx.ui.notify(f"Answers: {answers}")
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("/both")
        await app_fixture.sees("First?")
        assert "Second?" not in app_fixture.screen
        app_fixture.send("one")
        await app_fixture.sees("Second?")
        app_fixture.send("two")
        await app_fixture.sees("Third?")
        app_fixture.type(ENTER)
        await app_fixture.sees("Answers: ['one', 'two', True]")


@pytest.mark.behaviour("timed-out-dialogs-close")
async def test_aborting_the_agent_closes_its_dialogs(tmp_path: Path) -> None:
    source = """
    @pi.on("tool_call")
    async def ask(event, ctx):
        await ctx.ui.select("Really?", ["yes", "no"])
    """
    steps = (calls("bash", command="true"), says("Never said."))
    async with extended(tmp_path, source, *steps).running() as app_fixture:
        app_fixture.send("go")
        await app_fixture.sees("Really?")
        assert app_fixture.session is not None
        await app_fixture.session.abort()
        await app_fixture.loses("Really?")


@pytest.mark.behaviour("stale-handles-raise")
async def test_starting_a_new_session_closes_the_open_dialog(tmp_path: Path) -> None:
    source = """
    @pi.command("ask")
    async def ask(args, ctx):
        answer = await ctx.ui.input("Your name?")
        assert answer is None
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.send("/ask")
        await app_fixture.sees("Your name?")
        assert app_fixture.session is not None
        await app_fixture.session.new_session()
        await app_fixture.loses("Your name?")
        app_fixture.type("still here")
        await app_fixture.sees("still here")


COUNTER = """
class Counter:
    def __init__(self, tui, done):
        self.count, self.tui, self.done = 0, tui, done

    def render(self, width):
        return [f"Count: {self.count}", "x" * 200]

    def handle_input(self, data):
        if data == "+":
            self.count += 1
        elif data == "b":
            raise ValueError("broken")
        elif data == "?":
            pi.scope.spawn(self.help(), name="help")
        else:
            self.done(self.count)

    async def help(self):
        await pi.context.ui.confirm("Can you count?", "It is easy.")
        self.count = 100
        self.tui.request_render()

handles = []

@pi.command("count")
async def count(args, ctx):
    def make(tui, theme, keys, done):
        assert theme.fg("accent", "x") and keys.keys("app.exit")
        return Counter(tui, done)

    overlay = args == "overlay"
    counted = await ctx.ui.custom(
        make, overlay=overlay, overlay_options={"width": 20}, on_handle=handles.append
    )
    ctx.ui.notify(f"Counted {counted}, {len(handles)} overlays")
"""


@pytest.mark.parametrize("args", ["", "overlay"])
async def test_a_component_of_an_extension_receives_the_keys(tmp_path: Path, args: str) -> None:
    async with extended(tmp_path, COUNTER).running() as app_fixture:
        app_fixture.send(f"/count {args}")
        await app_fixture.sees("Count: 0")
        app_fixture.type("+")
        app_fixture.type("+")
        await app_fixture.sees("Count: 2")
        app_fixture.type(ENTER)
        await app_fixture.sees(f"Counted 2, {len(args) // 7} overlays")
        assert "Count: 2" not in app_fixture.screen
        app_fixture.type("back")
        await app_fixture.sees("back")


async def test_a_component_that_raises_is_removed_and_reported(tmp_path: Path) -> None:
    async with extended(tmp_path, COUNTER).running() as app_fixture:
        app_fixture.send("/count")
        await app_fixture.sees("Count: 0")
        app_fixture.type("b")
        await app_fixture.sees("command:count: broken")
        assert "Count: 0" not in app_fixture.screen
        app_fixture.type("back")
        await app_fixture.sees("back")


async def test_a_component_can_open_a_dialog(tmp_path: Path) -> None:
    async with extended(tmp_path, COUNTER).running() as app_fixture:
        app_fixture.send("/count")
        await app_fixture.sees("Count: 0")
        app_fixture.type("?")
        await app_fixture.sees("Can you count?")
        app_fixture.type(ENTER)
        await app_fixture.sees("Count: 100")


async def test_the_diff_of_a_tool_call_is_shown_once_in_the_permission_dialog(
    tmp_path: Path,
) -> None:
    asking = """
    @pi.on("tool_call")
    async def allow(event, ctx):
        text = "Allow it?\\n@@ -1 +1 @@\\n-old words\\n+new words"
        if await ctx.ui.select(text, ["Yes", "No"], call_id=event.tool_call_id) == "No":
            return Block(reason="Not now.")
    """
    edits = [{"oldText": "old words", "newText": "new words"}]
    edit = calls("edit", path="a.txt", edits=edits)
    app_fixture = extended(tmp_path, asking, edit, says("Left."), edit, says("Done."))
    (app_fixture.fixture.cwd / "a.txt").write_text("old words\n")
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Allow it?")
        await app_fixture.quiet()
        assert app_fixture.screen.count("new words") == 1
        assert "● edit a.txt" in app_fixture.screen
        app_fixture.type(DOWN + ENTER)
        await app_fixture.sees("Left.")
        assert "words" not in app_fixture.screen
        app_fixture.send("again")
        await app_fixture.sees("Allow it?")
        app_fixture.type(ENTER)
        await app_fixture.sees("Done.")
        assert app_fixture.screen.count("new words") == 1


GUARDED = """
@pi.on("tool_call")
async def ask_first(event, ctx):
    if not await ctx.ui.confirm("Run it?", event.tool_name):
        return Block(reason="no")

@pi.tool(name="deploy", description="Deploy")
async def deploy():
    return str(await pi.context.ui.confirm("Really deploy?", "to production"))
"""


async def test_the_time_of_a_tool_does_not_include_the_time_of_questions(tmp_path: Path) -> None:
    app = extended(tmp_path, GUARDED, calls("deploy"), says("Done."))
    async with app.running() as app_fixture:
        app_fixture.send("go")
        for question in ("Run it?", "Really deploy?"):
            await app_fixture.sees(question)
            await app_fixture.clock.advance(30.0)
            app_fixture.type("y")
        await app_fixture.sees("Done.")
        await app_fixture.quiet()
        assert "deploy" in app_fixture.tape
        assert "30s" not in app_fixture.tape
        assert "1m 00s" not in app_fixture.tape


async def test_digits_answer_a_selection(tmp_path: Path) -> None:
    async with extended(tmp_path, ASKING).running() as app_fixture:
        app_fixture.send("/ask select")
        await app_fixture.sees("1. apple")
        app_fixture.type("2")
        await app_fixture.sees("Answer: 'pear'")
