"""What the dialogs of the built-in commands look like, and what commands report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.testing import says
from tests.modes.interactive.commands.playhouse import Playhouse
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
"""What opens each of them, and what is seen once all of it is there."""


def playhouse(tmp_path: Path, *, columns: int = 80, rows: int = 24) -> Playhouse:
    """An application whose model has four things to say."""
    answers = ("It greets, politely.", "On the second line.", "## A summary", "In `greet.py`.")
    return Playhouse(tmp_path, *map(says, answers), columns=columns, rows=rows)


async def talk(play: Playhouse) -> None:
    """Ask two questions."""
    await play.asks("What does it do?", "politely.")
    await play.asks("And where is that decided?", "second line.")


def dialog(play: Playhouse) -> str:
    """The screen without the transcript above the dialog."""
    return play.screen[play.screen.index("─" * play.terminal.size.columns) :]


async def looks_like(play: Playhouse, name: str, sign: str) -> None:
    """Wait for a sign that all of a dialog is there, and compare it with a snapshot."""
    await play.sees(sign)
    await play.quiet()
    check(name, dialog(play))


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12)])
async def test_dialogs_look_like_this(tmp_path: Path, columns: int, rows: int) -> None:
    play, seen = playhouse(tmp_path, columns=columns, rows=rows), []
    async with play.playing():
        await talk(play)
        for command, sign in DIALOGS.items():
            play.send(command)
            await play.sees(sign)
            await play.quiet()
            seen.append(f"{command}\n{dialog(play)}\n")
            play.type(CTRL_C)
            await play.loses(sign)
    check(f"dialogs-{columns}", "\n".join(seen))


async def test_settings_are_searched_and_changed_in_place(tmp_path: Path) -> None:
    play = playhouse(tmp_path)
    async with play.playing():
        play.send("/settings")
        await play.sees("Type to search")
        play.type("skip summary")
        await play.sees("→ Skip summary")
        play.type("\r")
        await play.sees("Skip summary  on")
        play.type(f"{CTRL_U}summary")
        await play.sees("→ Summary reserve")
        play.type("\r")
        await play.sees("16384, by default")
        play.send("many")
        await looks_like(play, "settings-typing", "must be a whole number")
        play.type(CTRL_U)
        play.send("9000")
        await looks_like(play, "settings", "Summary reserve     9000")
    stored = json.loads((play.stage.agent_dir / "settings.json").read_text())
    assert stored["branchSummary"] == {"skipPrompt": True, "reserveTokens": 9000}


async def test_a_branch_is_labelled_left_with_a_summary_and_found_again(tmp_path: Path) -> None:
    play = playhouse(tmp_path)
    async with play.playing():
        await talk(play)
        play.send("/tree")
        await play.sees("[default]")
        play.type("L")
        await play.sees("Label:")
        play.send("first try")
        await play.sees("[first try]")
        play.type(f"{UP}\r")
        await play.sees("Summarize the branch you leave?")
        play.type(f"{DOWN}\r")
        await play.sees("Back from another branch")
        await play.sees("And where is that decided?")
        await play.rests()
        play.type("\r")
        await play.sees("In greet.py.")
        await play.rests()
        play.send("/tree")
        await looks_like(play, "tree-branches", "[default]")
        play.type("second line")
        await looks_like(play, "tree-search", "(1/1)")


async def test_sessions_are_renamed_and_deleted_in_their_list(tmp_path: Path) -> None:
    play = playhouse(tmp_path)
    async with play.playing():
        await talk(play)
        await play.clock.advance(7200)
        play.send("/new")
        await play.sees("New session started")
        await play.asks("Something else", "A summary")
        play.send("/resume")
        await play.sees("What does it do?")
        play.type(f"{UP}{CTRL_R}")
        await play.sees("Name:")
        play.send("Greetings")
        await play.sees("→ Greetings")
        play.type(CTRL_D)
        await looks_like(play, "sessions", "any other key: no")
        play.type("\r")
        await play.sees("Moved the session to the trash.")
        await play.loses("Greetings")


async def test_a_theme_is_seen_while_it_is_selected_and_gone_if_it_is_not_chosen(
    tmp_path: Path,
) -> None:
    play = playhouse(tmp_path)
    async with play.playing():
        play.send("/theme")
        await play.sees("→ follow the terminal")
        dark = _title_colour(play)
        play.type(f"{DOWN}{DOWN}")
        await play.until(lambda: _title_colour(play) != dark)
        light = _title_colour(play)
        play.type(CTRL_C)
        await play.loses("→ light")
        play.send("/theme")
        await play.sees("→ follow the terminal  (now)")
        assert _title_colour(play) == dark
        play.type(f"{DOWN}{DOWN}\r")
        await play.sees("Theme: light")
        play.send("/theme")
        await play.sees("→ light  (now)")
        assert _title_colour(play) == light


def _title_colour(play: Playhouse) -> object:
    return play.terminal.style(1, play.terminal.screen.index(" Theme"))["fg"]


async def test_what_was_used_is_one_table(tmp_path: Path) -> None:
    play = playhouse(tmp_path)
    async with play.playing():
        await talk(play)
        play.send("/usage")
        await play.sees("requests")
        await play.quiet()
        check("usage", play.screen[play.screen.index(" Usage") :])


async def test_a_key_is_stored_unseen_and_forgotten_again(tmp_path: Path) -> None:
    play = playhouse(tmp_path)
    async with play.playing():
        play.send("/login deepseek")
        await play.sees("API key")
        play.type("sk-secret")
        await looks_like(play, "login-key", "•••••••••")
        play.type("\r")
        await play.sees("Saved in")
        await play.loses("•••••••••")
        play.send("/logout deepseek")
        await play.sees("Logged out of DeepSeek.")
    assert "sk-secret" not in play.written
