"""One hostile string is used as every name that is shown; no control sequence in it takes effect.

The screen is strict: a row that a component should have sanitised raises. Styles are allowed there,
so hostile styles are searched for in the output that the terminal received.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from pi.ai.messages import Text, Thinking
from pi.ai.providers.faux import FAUX_MODEL, Reply, call
from pi.base.records import replace
from pi.coding.trust import TrustChoice, gated_in
from pi.modes.interactive.commands.table import BUILT_IN
from pi.modes.interactive.dialogs.project_trust import ask_trust
from pi.modes.interactive.ui import Ui
from pi.testing import ScriptedProvider, says
from tests.modes.interactive.commands.full_app import FullApp
from tests.sampling import sampled
from tests.stories.taint import HOSTILE, LOOT, offences

CTRL_C, ESCAPE, DOWN, TAB = "\x03", "\x1b", "\x1b[B", "\t"
PASTED = f"\x1b[200~{HOSTILE.replace(chr(27), '').replace(LOOT, '')}\x1b[201~"
"""The part of a pasted hostile string that a terminal passes on."""
UNSTYLED = HOSTILE.replace("\x1b[5;31m", "").replace("\x9b5m", "")
"""For the rows of extensions, which may contain styles."""
SHORT = f"evil\x1b[5;31m\x1b]0;{LOOT}\x07"
"""For the parent folder: the name of the session folder contains all folder names and must fit."""
LEAVES = ("quit", "share")
"""A command that ends the program, and one that sends a request to GitHub."""
REPLACES = ("new", "clone", "reload", "resume", "fork", "import", "compact")
"""Commands that replace the session or the screen; they are run last."""

EXTENSION = f"""
from pi.extension import *

NAME, ROW = {HOSTILE!r}, {UNSTYLED!r}

def extension(pi):
    @pi.on("session_start")
    async def started(event, ctx):
        ctx.ui.set_status(NAME, ROW)
        ctx.ui.set_title(NAME)
        ctx.ui.set_widget(NAME, [ROW])
        ctx.ui.notify(NAME)
        ctx.ui.notify(NAME, "error")

    @pi.command("ask", description=NAME)
    async def ask(args, ctx):
        await ctx.ui.select(NAME, [Option(label=NAME, description=NAME), NAME])
        await ctx.ui.confirm(NAME, NAME)
        await ctx.ui.input(NAME, NAME)
        await ctx.ui.editor(NAME, NAME)
        raise ValueError(NAME)
"""

WORDS = (
    f"# {HOSTILE}\n[{HOSTILE}](<{HOSTILE}>) [a](file:///etc) ![{HOSTILE}](javascript:x)"
    f" `{HOSTILE}`\n\n```{HOSTILE}\n{HOSTILE}\n```\n| {HOSTILE} |\n|---|\n| {HOSTILE} |\n"
)


class HostilePlay(FullApp):
    """An application in which everything that can have a name is called ``HOSTILE``."""

    def __init__(self, tmp_path: Path, *steps: Reply, **options: Any) -> None:
        super().__init__(tmp_path / SHORT, **options)
        fixture = self.fixture
        fixture.cwd = fixture.home / HOSTILE
        self.write(fixture.cwd / ".git/HEAD", f"ref: refs/heads/{HOSTILE}\n")
        self.write(fixture.cwd / f"{HOSTILE}.txt", HOSTILE)
        self.write(fixture.cwd / "AGENTS.md", HOSTILE)
        head = json.dumps({"name": HOSTILE, "description": HOSTILE, "argument-hint": HOSTILE})
        resource = f"---\n{head}\n---\n{HOSTILE}"
        self.write(fixture.agent_dir / f"skills/{HOSTILE}/SKILL.md", resource)
        self.write(fixture.agent_dir / f"prompts/{HOSTILE}.md", resource)
        self.write(fixture.agent_dir / f"themes/{HOSTILE}.json", '{"name": "x"}')
        self.write(fixture.agent_dir / f"extensions/{HOSTILE}.py", EXTENSION)
        settings = {"defaultProvider": HOSTILE, "defaultModel": HOSTILE, "shellPath": HOSTILE}
        self.write(fixture.agent_dir / "settings.json", json.dumps(settings))
        model = replace(FAUX_MODEL, id=HOSTILE, name=HOSTILE, provider=HOSTILE)
        row = replace(fixture.provider.row, id=HOSTILE, name=HOSTILE, default_model=HOSTILE)
        fixture.provider = ScriptedProvider(*steps, row=row, models=(model,))
        fixture.registry.models.register(fixture.provider)
        self.options["model"] = f"{HOSTILE}/{HOSTILE}"
        self.lines = (HOSTILE,)
        self.command = HOSTILE
        self.begin = self._begin

    @staticmethod
    def write(path: Path, text: str) -> None:
        """Write a file and create its parent folders."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    async def _begin(self) -> None:
        assert self.session is not None
        await self.session.start()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HostilePlay]:
        """Run the application, and check that no hostile sequence reached the terminal."""
        async with super().running():
            yield self
        assert "nasty" in self.tape
        assert offences(self.written) == []

    async def press(self, *keys: str) -> None:
        """Press keys and wait for the frame after each, but not for suggestion timers."""
        for key in keys:
            self.type(key)
            for _ in range(5):
                await asyncio.sleep(0.002)
            await self.until(lambda: self.app._frame.tui.is_painted)

    def hostile_session(self) -> Path:
        """Write a copy of the session with a hostile name and label."""
        assert self.session is not None
        file = self.session.entries.log.file
        assert file is not None
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        last = entries[-1]
        for number, more in enumerate(
            (
                {"type": "session_info", "name": HOSTILE},
                {"type": "label", "targetId": last["id"], "label": HOSTILE},
            )
        ):
            common = {"id": f"evil000{number}", "parentId": last["id"]}
            entries.append({**more, **common, "timestamp": last["timestamp"]})
            last = entries[-1]
        entries[0]["id"] = "0190aaaa-0000-7000-8000-000000000000"
        copy = file.with_name("2020-01-01T00-00-00-000Z_0190aaaa-0000-7000-8000-000000000000.jsonl")
        copy.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
        return copy


@pytest.mark.behaviour("control-sequences-are-stripped")
@pytest.mark.parametrize("mode", sampled(["regular", "fullscreen"], keep=1))
async def test_hostile_text_in_transcript_and_footer_sends_no_control_sequences(
    tmp_path: Path, mode: str
) -> None:
    tools = ("read", "write", "edit", "grep", "find", "ls", HOSTILE)
    usual = {"path": HOSTILE, "pattern": HOSTILE, "content": HOSTILE, HOSTILE: HOSTILE}
    calls = [call(tool, **usual) for tool in tools]
    calls.append(call("bash", command=f"printf '%s' {quote(HOSTILE)}; exit 1"))
    hosted = HostilePlay(
        tmp_path,
        Reply(blocks=(Thinking(thinking=HOSTILE), Text(text=WORDS), *calls)),
        says(WORDS),
        Reply(blocks=(Text(text=WORDS),), error=HOSTILE),
        environ={"PI_HYPERLINKS": "1"},
    )
    hosted.write(hosted.fixture.agent_dir / "settings.json", json.dumps({"tuiMode": mode}))
    async with hosted.running():
        for prompt in ("go on", PASTED, f"!printf '%s' {PASTED}", f"@{PASTED}"):
            hosted.send(prompt)
            await hosted.rests()
        await hosted.press("\x0f", "\x14", "@", "e", ESCAPE, "/", "e", CTRL_C)


async def test_hostile_names_in_the_trust_dialog_send_no_control_sequences(tmp_path: Path) -> None:
    hosted, answers = HostilePlay(tmp_path), list[TrustChoice | None]()

    async def ask(ui: Ui) -> None:
        answers.append(
            await ask_trust(
                ui, hosted.fixture.cwd, gated_in(hosted.fixture.cwd, home=hosted.fixture.cwd.parent)
            )
        )

    hosted.welcome = ask
    async with hosted.running():
        await hosted.sees("Trust project folder?")
        await hosted.sees("nasty")
        await hosted.press(DOWN, CTRL_C)
        await hosted.until(lambda: bool(answers))


@pytest.mark.parametrize("step", sampled((5, 1), 1))
async def test_hostile_names_in_commands_and_dialogs_send_no_control_sequences(
    tmp_path: Path, step: int
) -> None:
    hosted = HostilePlay(tmp_path, *[says(HOSTILE)] * 20)
    names = [row.name for row in BUILT_IN if row.name not in (*LEAVES, *REPLACES)][::step]
    async with hosted.running():
        hosted.send("go on")
        await hosted.rests()
        assert hosted.session is not None
        await hosted.session.sessions.switch(hosted.hostile_session())
        await hosted.quiet()
        for name in (*names, *REPLACES):
            for arguments in ("", f" {PASTED}"):
                # Escape closes the suggestions, and later the dialog.
                await hosted.press(f"/{name}{arguments}", ESCAPE, "\r", f"{DOWN}{TAB}e", CTRL_C)
            await hosted.rests()


async def test_hostile_text_in_extension_dialogs_sends_no_control_sequences(tmp_path: Path) -> None:
    hosted = HostilePlay(tmp_path)
    async with hosted.running():
        hosted.send("/ask")
        for _ in range(4):
            await hosted.sees("cancel")
            await hosted.press(ESCAPE)
        await hosted.sees("command:ask: evil")
