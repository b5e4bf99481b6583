"""Each command of the menu is typed with nothing, with nonsense, and with a documented argument."""

from __future__ import annotations

import json
import os
import re
import sys
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.journeys.doors import TerminalDoor
from tests.journeys.program import Journey
from tests.journeys.terminal import Terminal

NONSENSE = "nonsense xyz"
SAMPLE = frozenset({"plan", "export", "extensions", "permissions", "model", "quit"})
"""Commands that every run of the tests types."""


class Row(NamedTuple):
    """What the screen shows after a command."""

    alone: str
    nonsense: str
    """The same as ``alone`` for commands that take no argument."""
    argument: str = ""
    shown: str = ""


def ignores(shown: str) -> Row:
    """A command that takes no argument, and ignores one."""
    return Row(shown, shown)


def needs(usage: str, argument: str, shown: str) -> Row:
    """A command that explains itself when it gets nothing or nonsense."""
    return Row(usage, usage, argument, shown)


NEW, LEFT = "New session started", "pi --session"
SHARED, NO_GIT = "This session is shared.", "not a git repository"
COMMANDS = {
    # Sessions
    "branch": Row("Session Tree", "No message has the id nonsense xyz"),
    "clear": ignores(NEW),
    "clone": ignores("Cloned to a new session"),
    "compact": Row("Nothing to compact", "Nothing to compact", "--preview", "Strategy"),
    "context": ignores("System prompt"),
    "copy": ignores("Sent the last answer"),
    "dump": ignores("Sent the session"),
    "export": Row("Session exported to", "Session exported to", "p.html", "work/p.html"),
    "fork": Row("Fork", "No message has the id nonsense xyz"),
    "import": Row("No file given.", "File not found", "claude", "Imported from claude"),
    "name": Row("has no name", "Session name: nonsense xyz", "A name", "Session name: A name"),
    "new": ignores(NEW),
    "resume": ignores("Resume Session"),
    "session": ignores("Messages       1 from you"),
    "share": Row(
        "GitHub CLI is not logged in",
        "Unknown share target nonsense xyz",
        "blob",
        "encrypted, to 127.0.0.1:9",
    ),
    "tree": ignores("Session Tree"),
    "usage": ignores("Usage"),
    # Models
    "login": Row("Log in to", 'Unknown provider "nonsense xyz"', "groq", "Key for Groq"),
    "logout": ignores("No stored credentials."),
    "model": Row("Enter use", "Model not found: nonsense xyz", "loop/two", "(loop) two"),
    "scoped-models": ignores("Scoped models"),
    "thinking": Row("Thinking level", "is not a thinking level", "off", "Thinking: off"),
    # Project
    "extensions": Row("Space switch", "Use /extensions", "on todo", "todo is on"),
    "init": Row("Draft an AGENTS.md", NONSENSE, "in short", "in short"),
    "reload": ignores("Reloaded settings"),
    "review": Row("Review the changes", NONSENSE, "the parser", "the parser"),
    "trust": ignores("Trust project folder?"),
    # Application
    "bug": Row("What went wrong?", "Add the session?", "it hangs", "Add the session?"),
    "changelog": ignores("### "),
    "doctor": ignores("agent folder"),
    "exit": ignores(LEFT),
    "help": ignores("show all commands"),
    "hotkeys": ignores("While writing"),
    "quit": ignores(LEFT),
    "settings": ignores("Type to search"),
    "theme": Row("follow the terminal", "Unknown theme", "light", "Theme: light"),
    # Extensions
    "advisor": Row("Reviews are on", "Usage: /advisor", "off", "Reviews are off."),
    "agents": Row(
        "No agent has been started.", "Unknown action nonsense", "show x", "Unknown agent: x."
    ),
    "auth-broker": Row(
        "no broker is configured", "Usage: pi auth-broker", "list", "The broker has no accounts."
    ),
    "auth-gateway": Row("No gateway answers", "Usage: pi auth-gateway", "status", "No gateway"),
    "collab": Row(SHARED, "Unknown action nonsense.", "status", "is not shared"),
    "commit": Row(NO_GIT, NO_GIT, "--split", NO_GIT),
    "handoff": Row("Hand off:", "Hand off:", "the rest", "Hand off:"),
    "hooks": Row("There are no hooks.", "/hooks takes no arguments."),
    "jobs": Row("There are no jobs.", "/jobs takes no arguments."),
    "join": Row(
        "/join needs a link.", "This is not a link", "ROOM.5.SECRET", "The link is damaged."
    ),
    "leave": ignores("You are not in a shared session."),
    "lsp": Row("Language servers", "Unknown action nonsense", "reload", "Ended: none."),
    "mcp": Row("MCP servers", "Usage: /mcp list", "test sky", "sky works"),
    "memory": Row("There are no notes yet.", "/memory takes no arguments."),
    "open": Row("Nothing to open.", "no such file", "agent://x", "no artifacts and no outputs"),
    "permissions": Row(
        "Permission mode: off", "Unknown mode nonsense", "ask", "Permission mode: ask"
    ),
    "plan": Row("Plan mode is on", NONSENSE, "off", "Plan mode is off."),
    "plan-review": ignores("There is no plan yet."),
    "redo": ignores("There is no rewind to take back."),
    "remember": Row(
        "What is to be remembered?",
        "Remembered for this project: nonsense xyz",
        "--user It",
        "Remembered for this user",
    ),
    "rewind": Row("There are no points.", "Usage: /rewind", "list", "There are no points."),
    "roles": Row("Model roles", "Unknown role nonsense xyz", "smol", "Model for the role smol"),
    "rules": Row("There are no rules", "Unknown rule nonsense xyz"),
    "sandbox": Row("Sandbox: off", "/sandbox takes no arguments."),
    "secrets": Row("Secrets are sent as they are", "/secrets takes no arguments."),
    "switch": Row("Use a model from now on", "Model not found", "loop/two", "(loop) two"),
    "timebox": needs("Usage: /timebox", "turns:5", "Timebox set: 5 turns."),
    "todo": Row("The todo list is empty.", "Usage: /todo", "append Home: Cook", "Todo Home"),
    "unshare": Row("no encrypted shares", "Unknown share nonsense xyz"),
    "web": Row("This session in the browser", "is not the id of a session"),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.full) for name in COMMANDS],
)
def test_a_command_of_the_menu_says_what_happens(journey: Journey, name: str) -> None:
    journey.home.use_model(journey.model, "one", "two")
    journey.home.use_settings(share={"serverUrl": "http://127.0.0.1:9/s"})
    server = {"command": sys.executable, "args": [str(Path(__file__).with_name("mcp_server.py"))]}
    journey.home.write("mcp.json", json.dumps({"mcpServers": {"sky": server}}))
    gh = journey.home.write_work("programs/gh", "#!/bin/sh\nexit 1\n")
    gh.chmod(0o755)
    journey.environ["PATH"] = f"{gh.parent}{os.pathsep}{journey.environ['PATH']}"
    row = COMMANDS[name]
    typed = [(name, row.alone), (f"{name} {NONSENSE}", row.nonsense)]
    if row.shown:
        typed.append((f"{name} {row.argument}", row.shown))
    for text, shown in typed:
        with journey.terminal(rows=60) as user:
            user.shows("one")
            user.submits("hello")
            user.sees("All is well.")
            user.settles()
            _submit(user, f"/{text}", shown)
            TerminalDoor(journey, user).settles()


def _submit(user: Terminal, command: str, shown: str) -> None:
    """Type a command, and wait until a text is in the rows that it adds or changes."""
    before = user.tape

    def changed_rows() -> str:
        pairs = zip(before, user.tape, strict=False)
        return user.tape[sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) :]

    user.submits(command)
    user.until(lambda: shown in changed_rows(), shown)


def test_the_commands_above_are_all_that_the_menu_has(journey: Journey) -> None:
    with journey.terminal(rows=120) as user:
        user.shows("one")
        user.submits("/help")
        user.shows("Keys are listed by")
        names = set(re.findall(r"(?m)^ /([a-z-]+)(?: \[| <|  )", user.screen))
    assert sorted(names) == sorted(COMMANDS)
