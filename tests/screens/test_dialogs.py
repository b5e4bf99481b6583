"""Dialogs of the built-in commands, and the output of commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.testing import says
from tests.modes.interactive.commands.full_app import FullApp
from tests.sampling import sampled
from tests.screens.snapshots import check

CTRL_C, CTRL_D, CTRL_R, CTRL_U = "\x03", "\x04", "\x12", "\x15"
UP, DOWN = "\x1b[A", "\x1b[B"

DIALOGS = {
    "/model": "Built in",
    "/scoped-models": "[x] faux",
    "/thinking": "Thinking level",
    "/theme": "light",
    "/tree": "[default]",
    "/resume": "msgs",
    "/fork": "Fork from",
    "/login moonsh": "Moonshot",
    "/login anthropic": "API key",
    "/bug": "A short description",
}
"""The command of each dialog, and a text that is visible once the dialog is complete."""


def full_app(tmp_path: Path, *, columns: int = 80, rows: int = 24) -> FullApp:
    """Return an application whose model gives four answers."""
    answers = ("It greets, politely.", "On the second line.", "## A summary", "In `greet.py`.")
    return FullApp(tmp_path, *map(says, answers), columns=columns, rows=rows)


async def talk(hosted: FullApp) -> None:
    """Ask two questions."""
    await hosted.asks("What does it do?", "politely.")
    await hosted.asks("And where is that decided?", "second line.")


def dialog(hosted: FullApp) -> str:
    """Return the screen without the transcript above the dialog."""
    return hosted.screen[hosted.screen.index("─" * hosted.terminal.size.columns) :]


async def looks_like(hosted: FullApp, name: str, sign: str) -> None:
    """Wait until a dialog is complete, and compare it with a snapshot."""
    await hosted.sees(sign)
    await hosted.quiet()
    check(name, dialog(hosted))


@pytest.mark.parametrize(("columns", "rows"), sampled([(80, 24), (40, 12)], keep=1))
async def test_dialogs_match_their_snapshots(tmp_path: Path, columns: int, rows: int) -> None:
    hosted, seen = full_app(tmp_path, columns=columns, rows=rows), []
    async with hosted.running():
        await talk(hosted)
        for command, sign in DIALOGS.items():
            hosted.send(command)
            await hosted.sees(sign)
            await hosted.quiet()
            seen.append(f"{command}\n{dialog(hosted)}\n")
            hosted.type(CTRL_C)
            await hosted.loses(sign)
    check(f"dialogs-{columns}", "\n".join(seen))


async def test_settings_are_searched_and_changed_in_place(tmp_path: Path) -> None:
    hosted = full_app(tmp_path)
    async with hosted.running():
        hosted.send("/settings")
        await hosted.sees("Type to search")
        hosted.type("skip summary")
        await hosted.sees("→ Skip summary")
        hosted.type("\r")
        await hosted.sees("Skip summary  on")
        hosted.type(f"{CTRL_U}summary")
        await hosted.sees("→ Summary reserve")
        hosted.type("\r")
        await hosted.sees("16384, by default")
        hosted.send("many")
        await looks_like(hosted, "settings-typing", "must be a whole number")
        hosted.type(CTRL_U)
        hosted.send("9000")
        await looks_like(hosted, "settings", "Summary reserve     9000")
    stored = json.loads((hosted.fixture.agent_dir / "settings.json").read_text())
    assert stored["branchSummary"] == {"skipPrompt": True, "reserveTokens": 9000}


async def test_a_branch_can_be_labelled_left_with_a_summary_and_searched(tmp_path: Path) -> None:
    hosted = full_app(tmp_path)
    async with hosted.running():
        await talk(hosted)
        hosted.send("/tree")
        await hosted.sees("[default]")
        hosted.type("L")
        await hosted.sees("Label:")
        hosted.send("first try")
        await hosted.sees("[first try]")
        hosted.type(f"{UP}\r")
        await hosted.sees("Summarize the branch you leave?")
        hosted.type(f"{DOWN}\r")
        await hosted.sees("Back from another branch")
        await hosted.sees("And where is that decided?")
        await hosted.rests()
        hosted.type("\r")
        await hosted.sees("In greet.py.")
        await hosted.rests()
        hosted.send("/tree")
        await looks_like(hosted, "tree-branches", "[default]")
        hosted.type("second line")
        await looks_like(hosted, "tree-search", "(1/1)")


async def test_sessions_are_renamed_and_deleted_in_their_list(tmp_path: Path) -> None:
    hosted = full_app(tmp_path)
    async with hosted.running():
        await talk(hosted)
        await hosted.clock.advance(7200)
        hosted.send("/new")
        await hosted.sees("New session started")
        await hosted.asks("Something else", "A summary")
        hosted.send("/resume")
        await hosted.sees("What does it do?")
        hosted.type(f"{UP}{CTRL_R}")
        await hosted.sees("Name:")
        hosted.send("Greetings")
        await hosted.sees("→ Greetings")
        hosted.type(CTRL_D)
        await looks_like(hosted, "sessions", "any other key: no")
        hosted.type("\r")
        await hosted.sees("Moved the session to the trash.")
        await hosted.loses("Greetings")


async def test_a_selected_theme_is_previewed_and_reverted_on_cancel(
    tmp_path: Path,
) -> None:
    hosted = full_app(tmp_path)
    async with hosted.running():
        hosted.send("/theme")
        await hosted.sees("→ follow the terminal")
        dark = _title_colour(hosted)
        hosted.type(f"{DOWN}{DOWN}")
        await hosted.until(lambda: _title_colour(hosted) != dark)
        light = _title_colour(hosted)
        hosted.type(CTRL_C)
        await hosted.loses("→ light")
        hosted.send("/theme")
        await hosted.sees("→ follow the terminal  (now)")
        assert _title_colour(hosted) == dark
        hosted.type(f"{DOWN}{DOWN}\r")
        await hosted.sees("Theme: light")
        hosted.send("/theme")
        await hosted.sees("→ light  (now)")
        assert _title_colour(hosted) == light


def _title_colour(hosted: FullApp) -> object:
    return hosted.terminal.style(1, hosted.terminal.screen.index(" Theme"))["fg"]


async def test_usage_is_shown_as_a_table(tmp_path: Path) -> None:
    hosted = full_app(tmp_path)
    async with hosted.running():
        await talk(hosted)
        hosted.send("/usage")
        await hosted.sees("requests")
        await hosted.quiet()
        check("usage", hosted.screen[hosted.screen.index(" Usage") :])


async def test_an_api_key_is_masked_stored_and_removed_on_logout(tmp_path: Path) -> None:
    hosted = full_app(tmp_path)
    async with hosted.running():
        hosted.send("/login deepseek")
        await hosted.sees("API key")
        hosted.type("sk-secret")
        await looks_like(hosted, "login-key", "•••••••••")
        hosted.type("\r")
        await hosted.sees("Saved in")
        await hosted.loses("•••••••••")
        hosted.send("/logout deepseek")
        await hosted.sees("Logged out of DeepSeek.")
    assert "sk-secret" not in hosted.written
