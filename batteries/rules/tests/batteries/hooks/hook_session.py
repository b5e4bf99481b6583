"""Helpers of the tests of hooks: scripts as they are written for Claude Code, and sessions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step
from pi.batteries.hooks.adapter import extension
from pi.coding.session.entries import CustomMessage
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)
from tests.files import put

IN_PROJECT = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/'
RECORD = "printf '%s\\n' \"$(cat)\" >> {file}\n"
"""Keeps what a hook gets, one line each.

With one write: hooks of one event run at the same time, and their lines must not mix.
"""


class Consenting(FakeUI):
    """A user who answers every question about a hook with one label."""

    def __init__(self, label: str = "Allow", *, agrees: bool = True) -> None:
        super().__init__(agrees=agrees)
        self.label = label

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        self.seen.append(("select", title))
        return self.label

    @property
    def questions(self) -> list[str]:
        return [text for kind, text, *_ in self.seen if kind == "select"]

    @property
    def notices(self) -> list[str]:
        return [text for kind, text, *_ in self.seen if kind == "notify"]


def group(command: str, matcher: str = "", **options: Any) -> dict[str, Any]:
    """A group with one command."""
    hook = {"type": "command", "command": command, **options}
    return {"matcher": matcher, "hooks": [hook]}


class HookProject:
    """A project with settings of Claude Code and hook scripts."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.cwd = self.home / "project"
        self.records = folder / "records.jsonl"
        self.events: dict[str, list[Any]] = {}

    def script(self, name: str, text: str) -> Path:
        """A script in the project, which is executable."""
        path = self.cwd / ".claude/hooks" / name
        put(path, f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def on(self, event: str, text: str, matcher: str = "", **options: Any) -> Path:
        """A hook that is a script: it appends its input to RECORDS and then runs ``text``."""
        count = sum(map(len, self.events.values()))
        name = f"hook{count}.sh"
        text = text.replace("RECORDS", str(self.records))
        path = self.script(name, RECORD.format(file=self.records) + text)
        self.run(event, IN_PROJECT + name, matcher, **options)
        return path

    def run(self, event: str, command: str, matcher: str = "", **options: Any) -> None:
        """A hook with any command."""
        self.events.setdefault(event, []).append(group(command, matcher, **options))
        self.write()

    def write(self) -> None:
        """Write the settings of the project."""
        put(self.cwd / ".claude/settings.json", json.dumps({"hooks": self.events}))

    @property
    def got(self) -> list[dict[str, Any]]:
        """The inputs of all hooks, in order."""
        if not self.records.exists():
            return []
        return [json.loads(line) for line in self.records.read_text().splitlines() if line]


@asynccontextmanager
async def hooked(
    tmp_path: Path, *steps: Step, ui: FakeUI | None = None, **options: Any
) -> AsyncIterator[ExtensionFixture]:
    """A session in the trusted project of ``HookProject``; the user allows every hook."""
    async with extension_session(
        tmp_path,
        extension,
        *options.pop("extensions", ()),
        steps=steps,
        approve=True,
        ui=ui or Consenting(),
        **options,
    ) as hosted:
        yield hosted


def results(hosted: ExtensionFixture) -> list[str]:
    """The texts of the tool results."""
    messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return ["\n".join(b.text for b in m.content if isinstance(b, Text)) for m in messages]


def added(hosted: ExtensionFixture) -> list[str]:
    """The texts that hooks added to the conversation."""
    messages = [m for m in hosted.session.messages if isinstance(m, CustomMessage)]
    return [str(m.content) for m in messages if m.custom_type == "hook"]
