from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program

ASKING = """
import asyncio
from pi.ai.auth.login import AuthUrl, LoginChoice, DeviceCode, LoginInfo, LoginPrompt
from pi.ai.auth.terminal_ui import TerminalUI

async def main():
    ui = TerminalUI()
    {body}

asyncio.run(main())
"""


def talk(body: str, typed: str) -> tuple[int, str, str]:
    finished = subprocess.run(
        [sys.executable, "-c", ASKING.format(body=body)],
        input=typed,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return finished.returncode, finished.stdout, finished.stderr


def test_a_text_prompt_returns_the_stripped_input() -> None:
    body = "print(await ui.ask(LoginPrompt(kind='text', message='Who?')))"

    assert talk(body, " me \n") == (0, "me\n", "Who? ")


def test_a_choice_is_made_by_number() -> None:
    body = (
        "print(await ui.ask(LoginPrompt(kind='select', message='Which?', choices="
        "(LoginChoice(id='a', label='First'), LoginChoice(id='b', label='Second')))))"
    )

    assert talk(body, "9\n2\n") == (
        0,
        "b\n",
        "  1  First\n  2  Second\nWhich? Type a number from 1 to 2.\nWhich? ",
    )


def test_the_answer_after_a_cancelled_prompt_goes_to_the_next_prompt() -> None:
    body = (
        "prompt = LoginPrompt(kind='manual_code', message='Code?');"
        "first = asyncio.ensure_future(ui.ask(prompt));"
        "await asyncio.sleep(0); first.cancel(); await asyncio.wait({first});"
        "print(await ui.ask(prompt))"
    )

    with subprocess.Popen(
        [sys.executable, "-c", ASKING.format(body=body)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stderr is not None
        child.stderr.read(len("Code? Code? "))  # the first question is gone, the second is asked
        out, _ = child.communicate(b"typed\n", timeout=TIMEOUT_SECONDS)

    assert (child.returncode, out) == (0, b"typed\n")


def test_the_end_of_the_input_ends_the_login() -> None:
    code, out, err = talk("await ui.ask(LoginPrompt(kind='text', message='Who?'))", "")

    assert (code, out) == (1, "")
    assert err.endswith("LoginCancelled: The input ended.\n")


def test_pages_and_codes_are_shown_and_no_browser_is_opened() -> None:
    body = (
        "ui.notify(AuthUrl(url='https://x/', instructions='Open this page:'));"
        "ui.notify(DeviceCode(user_code='AB-1', url='https://y/', expires_in=60));"
        "ui.notify(LoginInfo(message='Done \\x1b[31m.'))"
    )

    assert talk(body, "") == (
        0,
        "",
        "Open this page:\nhttps://x/\nOpen https://y/ and type the code AB-1\nDone .\n",
    )


def test_login_without_a_provider_asks_for_one(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)

    ended = cli.run("auth", "login", piped="groq\nmy-key\n")

    assert ended.code == 0
    assert "groq" in ended.err.splitlines()[0]
    assert cli.run("auth", "print-api-key", "groq").out == "my-key\n"


def test_an_unknown_provider_is_an_error(tmp_path: Path) -> None:
    ended = Program.below(tmp_path).run("auth", "login", "gorq")

    assert ended == (1, "", 'Error: Unknown provider "gorq". Did you mean groq?\n')


def test_a_provider_that_needs_no_key_is_reported(tmp_path: Path) -> None:
    assert Program.below(tmp_path).run("auth", "login", "demo").err.startswith("Error: ")
