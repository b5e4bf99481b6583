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
from tests.coding.runtime.stage import Stage
from tests.modes.interactive.commands.playhouse import Playhouse
from tests.modes.interactive.fake_screen import FakeScreen
from tests.modes.interactive.theatre import FewCommands, Gate, Theatre
from tests.modes.interactive.transcript.looks import look, plain


@pytest.mark.behaviour("drafts-are-kept")
async def test_what_cannot_be_sent_comes_back_into_the_editor(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Yes."))
    async with theatre.playing():
        assert theatre.session is not None
        theatre.session._core.has_model = False  # as after a logout
        theatre.send("a long thought")
        await theatre.sees("✗ No model is selected. Log in or store a key with /login")
        await theatre.until(lambda: "\na long thought\n" in theatre.screen)


async def test_a_model_without_a_key_is_named_with_the_command_that_stores_one(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path, says("Yes."))
    async with theatre.playing():
        assert theatre.session is not None
        theatre.session._core.agent.model = Model(
            id="deepseek-chat", name="Chat", api="openai-completions", provider="deepseek"
        )
        theatre.send("hello")
        await theatre.sees("✗ No API key found for deepseek/deepseek-chat.")
        said = " ".join(theatre.screen.split())
        assert "set DEEPSEEK_API_KEY or run `/login deepseek`." in said
        assert "pi auth" not in said


async def test_commands_of_the_application_never_reach_the_model(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        theatre.type("/model faux/faux")
        await theatre.quiet()
        theatre.type("\r")
        await theatre.until(lambda: theatre.commands.ran == [("model", "faux/faux")])  # type: ignore[union-attr]
        assert theatre.stage.provider.requests == []


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
    theatre = Playhouse(tmp_path, says("What?"))
    theatre.stage.write(".pi/agent/prompts/greet.md", "Greet $1")
    async with theatre.playing():
        theatre.send(typed)
        await theatre.sees(f"✗ {reported}")
        await theatre.until(lambda: f"\n{typed}\n" in theatre.screen)
        assert theatre.stage.provider.requests == []


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
async def test_what_looks_like_no_command_is_sent_as_it_is(tmp_path: Path, typed: str) -> None:
    async with Playhouse(tmp_path, says("What?")).playing() as theatre:
        theatre.send(typed)
        await theatre.sees(f"▌ {typed}")
        await theatre.sees("What?")


TAKES = """
def extension(pi):
    @pi.on("input")
    def take(event, ctx):
        if event.text.startswith("/mine"):
            return {"action": "handled"}
        if event.text.startswith("/other"):
            return {"action": "transform", "text": "something else"}
"""


async def test_handlers_of_input_come_before_the_refusal(tmp_path: Path) -> None:
    theatre = Playhouse(tmp_path, says("What?"))
    theatre.stage.write(".pi/agent/extensions/takes.py", TAKES)
    async with theatre.playing():
        theatre.send("/mine")
        theatre.send("/other")
        await theatre.sees("▌ something else")
        await theatre.sees("What?")
        assert "Unknown command" not in theatre.tape


async def test_a_command_that_stands_for_a_prompt_is_sent_as_that(tmp_path: Path) -> None:
    async with Playhouse(tmp_path, says("Fine.")).playing() as theatre:
        theatre.send("/review the last commit")
        await theatre.sees("Fine.")
        (request,) = theatre.stage.provider.requests
        said = str(request.messages)
        assert "Review the changes in this working copy" in said
        assert "the last commit" in said


async def test_the_users_template_comes_before_a_command_that_yields(tmp_path: Path) -> None:
    theatre = Playhouse(tmp_path, says("Mine."), says("Yours."))
    theatre.stage.write(".pi/agent/prompts/review.md", "My own review of $1")
    theatre.stage.write(".pi/agent/prompts/clear.md", "My own clearing")
    async with theatre.playing():
        theatre.send("/review x.py")
        await theatre.sees("▌ My own review of x.py")
        theatre.send("/clear")
        await theatre.sees("▌ My own clearing")
        await theatre.sees("Yours.")
        theatre.send("/pi:clear")
        await theatre.sees("New session started")
        assert len(theatre.stage.provider.requests) == 2


async def test_what_a_template_lacks_is_asked_for(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Done."))
    theatre.stage.write(".pi/agent/prompts/fix.md", "Fix {{what}} in {{file}}")
    async with theatre.playing():
        theatre.send("/fix 'the bug'")
        await theatre.sees("/fix: file")
        theatre.type("\x1b[27u")  # Escape: it is given up, and nothing is lost
        await theatre.sees("/fix 'the bug'")
        theatre.type("\r")
        await theatre.sees("/fix: file")
        theatre.type("a b.py\r")
        await theatre.sees("▌ Fix the bug in a b.py")
        await theatre.sees("Done.")


async def test_two_messages_right_after_each_other_both_arrive(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="true"), says("One."), says("Two."))
    async with theatre.playing():
        theatre.send("first")
        theatre.send("second")
        await theatre.sees("▌ second")
        await theatre.rests()
        assert theatre.tape.index("▌ first") < theatre.tape.index("▌ second")


HANGS = """
import asyncio

def extension(pi):
    @pi.command("hang", description="never ends")
    async def hang(args, ctx):
        ctx.ui.notify("It hangs.")
        await asyncio.Event().wait()
"""


async def test_an_endless_extension_command_holds_up_prompts_briefly(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path, says("Here."))
    theatre.stage.write(".pi/agent/extensions/hangs.py", HANGS)
    async with theatre.playing():
        theatre.send("/hang")
        await theatre.sees("It hangs.")
        theatre.send("are you there?")
        await theatre.quiet()
        assert theatre.stage.provider.requests == []  # the command may have to do with it
        await theatre.clock.advance(GRACE_SECONDS)
        await theatre.sees("▌ are you there?")
        await theatre.sees("Here.")


async def test_a_command_is_painted_before_it_has_written_anything(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    gate = Gate(stage.cwd / "gate")
    async with await stage.open() as port:
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
