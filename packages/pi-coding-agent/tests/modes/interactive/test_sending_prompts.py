from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.models.model import Model
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.composer.prompt import TypingDetector
from pi.modes.interactive.prompt_sender import GRACE_SECONDS, PromptSender
from pi.modes.interactive.transcript.view import TranscriptView
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.interactive.app_fixture import AppFixture, FewCommands, Gate
from tests.modes.interactive.commands.full_app import FullApp
from tests.modes.interactive.fake_screen import FakeScreen
from tests.modes.interactive.transcript.looks import look, plain


@pytest.mark.behaviour("drafts-are-kept")
async def test_a_prompt_that_cannot_be_sent_is_restored_in_the_editor(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    async with app_fixture.running():
        assert app_fixture.session is not None
        app_fixture.session._core.has_model = False  # as after a logout
        app_fixture.send("a long thought")
        await app_fixture.sees("✗ No model is selected. Log in or store a key with /login")
        await app_fixture.until(lambda: "\na long thought\n" in app_fixture.screen)


async def test_a_model_without_a_key_is_named_with_the_command_that_stores_one(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    async with app_fixture.running():
        assert app_fixture.session is not None
        app_fixture.session._core.agent.model = Model(
            id="deepseek-chat", name="Chat", api="openai-completions", provider="deepseek"
        )
        app_fixture.send("hello")
        await app_fixture.sees("✗ No API key found for deepseek/deepseek-chat.")
        screen = " ".join(app_fixture.screen.split())
        assert "set DEEPSEEK_API_KEY or run `/login deepseek`." in screen
        assert "pi auth" not in screen


async def test_commands_of_the_application_never_reach_the_model(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        app_fixture.type("/model faux/faux")
        await app_fixture.quiet()
        app_fixture.type("\r")
        await app_fixture.until(lambda: app_fixture.commands.ran == [("model", "faux/faux")])  # type: ignore[union-attr]
        assert app_fixture.fixture.provider.requests == []


@pytest.mark.parametrize(
    ("typed", "reported"),
    [
        ("/clearr", "Unknown command /clearr. Did you mean /clear?"),
        ("/clearr all of it", "Unknown command /clearr. Did you mean /clear?"),
        ("/greett Ada", "Unknown command /greett. Did you mean /greet?"),
        ("/skill:none", "Unknown command /skill:none. /help lists all commands."),
        ("/xyzzy", "Unknown command /xyzzy. /help lists all commands."),
    ],
)
async def test_an_unknown_command_is_refused_and_stays_in_the_editor(
    tmp_path: Path, typed: str, reported: str
) -> None:
    app_fixture = FullApp(tmp_path, says("What?"))
    app_fixture.fixture.write(".pi/agent/prompts/greet.md", "Greet $1")
    async with app_fixture.running():
        app_fixture.send(typed)
        await app_fixture.sees(f"✗ {reported}")
        await app_fixture.until(lambda: f"\n{typed}\n" in app_fixture.screen)
        assert app_fixture.fixture.provider.requests == []


@pytest.mark.parametrize(
    "typed",
    [
        f"/{next(path.name for path in Path('/').iterdir() if path.name.islower())} is what?",
        "/usr/lib is what?",
        "/Clearr",
        "/x.y is what?",
        "/ is what?",
        "what is /clearr?",
    ],
)
async def test_text_that_does_not_look_like_a_command_is_sent_unchanged(
    tmp_path: Path, typed: str
) -> None:
    async with FullApp(tmp_path, says("What?")).running() as app_fixture:
        app_fixture.send(typed)
        await app_fixture.sees(f"▌ {typed}")
        await app_fixture.sees("What?")


TAKES = """
def extension(pi):
    @pi.on("input")
    def take(event, ctx):
        if event.text.startswith("/mine"):
            return {"action": "handled"}
        if event.text.startswith("/other"):
            return {"action": "transform", "text": "something else"}
"""


async def test_input_handlers_run_before_unknown_commands_are_rejected(tmp_path: Path) -> None:
    app_fixture = FullApp(tmp_path, says("What?"))
    app_fixture.fixture.write(".pi/agent/extensions/takes.py", TAKES)
    async with app_fixture.running():
        app_fixture.send("/mine")
        app_fixture.send("/other")
        await app_fixture.sees("▌ something else")
        await app_fixture.sees("What?")
        assert "Unknown command" not in app_fixture.tape


async def test_a_command_with_a_prompt_sends_that_prompt(tmp_path: Path) -> None:
    async with FullApp(tmp_path, says("Fine.")).running() as app_fixture:
        app_fixture.send("/review the last commit")
        await app_fixture.sees("Fine.")
        (request,) = app_fixture.fixture.provider.requests
        sent = str(request.messages)
        assert "Review the changes in this working copy" in sent
        assert "the last commit" in sent


async def test_a_template_of_the_user_overrides_a_command_that_yields(tmp_path: Path) -> None:
    app_fixture = FullApp(tmp_path, says("Mine."), says("Yours."))
    app_fixture.fixture.write(".pi/agent/prompts/review.md", "My own review of $1")
    app_fixture.fixture.write(".pi/agent/prompts/clear.md", "My own clearing")
    async with app_fixture.running():
        app_fixture.send("/review x.py")
        await app_fixture.sees("▌ My own review of x.py")
        app_fixture.send("/clear")
        await app_fixture.sees("▌ My own clearing")
        await app_fixture.sees("Yours.")
        app_fixture.send("/pi:clear")
        await app_fixture.sees("New session started")
        assert len(app_fixture.fixture.provider.requests) == 2


async def test_missing_values_of_a_template_are_asked_for(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Done."))
    app_fixture.fixture.write(".pi/agent/prompts/fix.md", "Fix {{what}} in {{file}}")
    async with app_fixture.running():
        app_fixture.send("/fix 'the bug'")
        await app_fixture.sees("/fix: file")
        app_fixture.type("\x1b[27u")  # Escape: it is given up, and nothing is lost
        await app_fixture.sees("/fix 'the bug'")
        app_fixture.type("\r")
        await app_fixture.sees("/fix: file")
        app_fixture.type("a b.py\r")
        await app_fixture.sees("▌ Fix the bug in a b.py")
        await app_fixture.sees("Done.")


async def test_two_messages_right_after_each_other_both_arrive(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="true"), says("One."), says("Two."))
    async with app_fixture.running():
        app_fixture.send("first")
        app_fixture.send("second")
        await app_fixture.sees("▌ second")
        await app_fixture.rests()
        assert app_fixture.tape.index("▌ first") < app_fixture.tape.index("▌ second")


HANGS = """
import asyncio

def extension(pi):
    @pi.command("hang", description="never ends")
    async def hang(args, ctx):
        ctx.ui.notify("It hangs.")
        await asyncio.Event().wait()
"""


async def test_an_endless_extension_command_delays_prompts_briefly(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, says("Here."))
    app_fixture.fixture.write(".pi/agent/extensions/hangs.py", HANGS)
    async with app_fixture.running():
        app_fixture.send("/hang")
        await app_fixture.sees("It hangs.")
        app_fixture.send("are you there?")
        await app_fixture.quiet()
        assert app_fixture.fixture.provider.requests == []  # the command may have to do with it
        await app_fixture.clock.advance(GRACE_SECONDS)
        await app_fixture.sees("▌ are you there?")
        await app_fixture.sees("Here.")


async def test_a_command_is_painted_before_it_has_written_anything(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    gate = Gate(fixture.cwd / "gate")
    async with await fixture.open() as port:
        screen, transcript = FakeScreen(tmp_path, port), TranscriptView(look())
        painted = asyncio.Event()

        def request_render() -> None:
            if " !! cat gate" in plain(transcript.component):
                painted.set()

        screen.request_render = request_render  # type: ignore[method-assign]
        composer = Composer(
            screen.theme,
            screen.keymap,
            tasks=screen.tasks,
            typing=TypingDetector(screen.host.clock),
            screen_rows=lambda: 24,
            request_render=request_render,
        )
        speaking = PromptSender(screen, composer, transcript, screen.tasks)
        speaking.submit("!!cat gate")
        speaking.open(port, FewCommands(screen))
        async with asyncio.timeout(30):
            await painted.wait()
        await gate.open()
        await screen.tasks.close()
