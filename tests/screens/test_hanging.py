"""Extensions that hang, and the user who ends them with Ctrl+C."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.sampling import sampled
from tests.screens.terminal_user import TOUR, needs_pty, terminal_user

pytestmark = [pytest.mark.slow, needs_pty]

STUCK = """\
import time

def extension(pi):
    @pi.on("input")
    def stay(event, ctx):
        if event.text == "spin":
            while True:
                pass
        if event.text == "sleep":
            time.sleep(600)

    @pi.command("await")
    async def hold(args, ctx):
        while True:
            try:
                time.sleep(1)
            except ValueError:
                pass

    @pi.command("defy")
    def defy(args, ctx):
        while True:
            try:
                time.sleep(1)
            except BaseException:
                pass
"""
NEVER_LOADED = "import time\ndef extension(pi):\n    time.sleep(600)\n"
CTRL_C, KITTY_CTRL_C = "\x03", "\x1b[99;5u"
WIDE = 300
"""Columns in which no path is wrapped."""
LINE = "is blocking in {}. Ctrl+C stops it."


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "function", "key"),
    sampled(
        [
            ("spin", "stay", CTRL_C),
            ("sleep", "stay", KITTY_CTRL_C),
            ("/await", "hold", CTRL_C),
        ],
        keep=1,
    ),
)
def test_ctrl_c_interrupts_a_handler_that_never_returns_and_the_session_continues(
    tmp_path: Path, text: str, function: str, key: str
) -> None:
    cli = Program.below(tmp_path)
    cli.write("extensions/stuck.py", STUCK)
    with terminal_user(cli, *TOUR, columns=WIDE) as ada:
        ada.sees("(demo) tour")
        ada.types(f"{text}\r")
        ada.sees(LINE.format(function))
        ada.types(f"a draft{key} that stays")
        ada.sees("It did not return and was interrupted with Ctrl+C.")
        ada.sees("\na draft that stays\n")
        ada.until(lambda: "Ctrl+C stops it" not in ada.screen)
        ada.types("\x15!!echo $((40 + 2)) is it\r")
        ada.sees("   42 is it")
        assert ada.leaves() == 0


@pytest.mark.full
def test_ctrl_c_ends_an_extension_that_hangs_while_it_is_loaded(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    cli.write("extensions/slow.py", NEVER_LOADED)
    with terminal_user(cli, *TOUR, columns=WIDE) as ada:
        ada.sees(LINE.format("extension"))
        ada.types(CTRL_C)
        ada.sees("slow.py was not loaded")
        ada.sees("(demo) tour")
        assert ada.leaves() == 0


@pytest.mark.full
def test_ctrl_c_twice_ends_pi_if_the_handler_defies_it(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    cli.write("extensions/stuck.py", STUCK)
    with terminal_user(cli, *TOUR, columns=WIDE) as ada:
        ada.sees("(demo) tour")
        ada.types("/defy\r")
        ada.sees(LINE.format("defy"))
        ada.types(CTRL_C)
        ada.sees("Press Ctrl+C again to quit")
        assert not ada.echoes
        ada.types(CTRL_C)
        assert ada.program.wait(TIMEOUT_SECONDS) == -signal.SIGTERM
        assert ada.echoes
