from __future__ import annotations

from pathlib import Path

import pytest

from pi.modes.interactive.composer.prompt import PAUSE_SECONDS
from pi.testing import calls, says
from tests.screens.extended import extended

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
)
async def test_an_extension_asks_and_the_user_answers(
    tmp_path: Path, kind: str, shown: str, keys: list[str], answer: str
) -> None:
    async with extended(tmp_path, ASKING).playing() as theatre:
        theatre.send(f"/ask {kind}")
        await theatre.sees(shown)
        for key in keys:
            theatre.type(key)
        await theatre.sees(f"Answer: {answer}")
        assert shown not in theatre.screen


async def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    async with extended(tmp_path, ASKING).playing() as theatre:
        theatre.send("/ask secret")
        await theatre.sees("Your key?")
        theatre.type("hush")
        await theatre.sees("••••")
        assert "hush" not in theatre.tape
        theatre.type(ESCAPE)
        await theatre.sees("Answer: None")


async def test_a_question_goes_when_its_time_is_over(tmp_path: Path) -> None:
    async with extended(tmp_path, ASKING).playing() as theatre:
        theatre.send("/ask late")
        await theatre.sees("You have a second.")
        assert "Quick? (1s)" in theatre.screen
        await theatre.clock.advance(2.0)
        await theatre.sees("Answer: False")
        assert "You have a second." not in theatre.screen


@pytest.mark.behaviour("drafts-are-kept")
async def test_what_was_being_written_is_there_after_a_question(tmp_path: Path) -> None:
    source = """
    @pi.on("tool_call")
    async def ask(event, ctx):
        if not await ctx.ui.confirm("Run it?", event.input["command"]):
            return Block(reason="No.")
    """
    steps = (calls("bash", command="true"), says("Done."))
    async with extended(tmp_path, source, *steps).playing() as theatre:
        theatre.send("go")
        theatre.type("half a sentence")
        await theatre.sees("half a sentence")
        await theatre.clock.advance(PAUSE_SECONDS)
        await theatre.sees("Run it?")
        theatre.type(ENTER)
        await theatre.sees("Done.")
        await theatre.sees("half a sentence")


async def test_questions_at_once_are_asked_one_after_the_other(tmp_path: Path) -> None:
    source = """
    @pi.command("both")
    async def both(args, ctx):
        answers = await asyncio.gather(
            ctx.ui.input("First?"), ctx.ui.input("Second?"), ctx.ui.confirm("Third?", "")
        )
        ctx.ui.notify(f"Answers: {answers}")
    """
    async with extended(tmp_path, source).playing() as theatre:
        theatre.send("/both")
        await theatre.sees("First?")
        assert "Second?" not in theatre.screen
        theatre.send("one")
        await theatre.sees("Second?")
        theatre.send("two")
        await theatre.sees("Third?")
        theatre.type(ENTER)
        await theatre.sees("Answers: ['one', 'two', True]")


@pytest.mark.behaviour("timed-out-dialogs-close")
async def test_stopping_the_agent_takes_its_questions_away(tmp_path: Path) -> None:
    source = """
    @pi.on("tool_call")
    async def ask(event, ctx):
        await ctx.ui.select("Really?", ["yes", "no"])
    """
    steps = (calls("bash", command="true"), says("Never said."))
    async with extended(tmp_path, source, *steps).playing() as theatre:
        theatre.send("go")
        await theatre.sees("Really?")
        assert theatre.session is not None
        await theatre.session.abort()
        await theatre.loses("Really?")


@pytest.mark.behaviour("stale-handles-raise")
async def test_another_session_leaves_the_questions_of_this_one(tmp_path: Path) -> None:
    source = """
    @pi.command("ask")
    async def ask(args, ctx):
        answer = await ctx.ui.input("Your name?")
        assert answer is None
    """
    async with extended(tmp_path, source).playing() as theatre:
        theatre.send("/ask")
        await theatre.sees("Your name?")
        assert theatre.session is not None
        await theatre.session.new_session()
        await theatre.loses("Your name?")
        theatre.type("still here")
        await theatre.sees("still here")


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
async def test_a_component_of_an_extension_takes_the_keys(tmp_path: Path, args: str) -> None:
    async with extended(tmp_path, COUNTER).playing() as theatre:
        theatre.send(f"/count {args}")
        await theatre.sees("Count: 0")
        theatre.type("+")
        theatre.type("+")
        await theatre.sees("Count: 2")
        theatre.type(ENTER)
        await theatre.sees(f"Counted 2, {len(args) // 7} overlays")
        assert "Count: 2" not in theatre.screen
        theatre.type("back")
        await theatre.sees("back")


async def test_a_component_that_fails_is_taken_away_and_reported(tmp_path: Path) -> None:
    async with extended(tmp_path, COUNTER).playing() as theatre:
        theatre.send("/count")
        await theatre.sees("Count: 0")
        theatre.type("b")
        await theatre.sees("command:count: broken")
        assert "Count: 0" not in theatre.screen
        theatre.type("back")
        await theatre.sees("back")


async def test_a_component_may_itself_ask_a_question(tmp_path: Path) -> None:
    async with extended(tmp_path, COUNTER).playing() as theatre:
        theatre.send("/count")
        await theatre.sees("Count: 0")
        theatre.type("?")
        await theatre.sees("Can you count?")
        theatre.type(ENTER)
        await theatre.sees("Count: 100")
