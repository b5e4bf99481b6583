"""Two real programs in two terminals and a real browser, through a real relay."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.programs.relay_load import RelayProcess

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
    pytest.mark.skipif(BROWSER is None, reason="needs chromium"),
]

SECONDS = 60.0
MODEL = """\
import asyncio
from pi.testing import ScriptedProvider, calls, says

LONG = " ".join(f"word{n}" for n in range(150))

def extension(pi):
    def step(call):
        message = [m for m in call.messages if type(m).__name__ == "UserMessage"][-1]
        text = "".join(getattr(block, "text", "") for block in message.content)
        if type(call.messages[-1]).__name__ == "ToolResultMessage":
            return says("The tool has run.")
        if "tool" in text:
            return calls("bash", command="echo from-the-tool")
        if "long" in text:
            return says(f"{LONG} finis")
        return says(f"Answer to: {text[-40:]}")

    async def slow(request, ask):
        async for event in ask(request):
            yield event
            await asyncio.sleep(0.01)

    pi.register_provider(ScriptedProvider(step))
    pi.wrap_model(slow)
"""


def until(condition: Callable[[], Any], what: str, screen: Callable[[], str] = lambda: "") -> Any:
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"{what}\n{screen()[-4000:]}".strip())
        time.sleep(0.05)  # other processes need the processor
    return found


class Terminal:
    """A pi in a pane of tmux."""

    def __init__(self, folder: Path, name: str, model: Path) -> None:
        self.home = folder / name
        self.agent_dir = self.home / ".pi" / "agent"
        self._name = f"pi-collab-{os.getpid()}-{name}"
        (self.home / "project").mkdir(parents=True)
        self.agent_dir.mkdir(parents=True)
        settings = {"compaction": {"keepRecentTokens": 20}}
        (self.agent_dir / "settings.json").write_text(json.dumps(settings))
        self.environ = {
            **os.environ,
            "HOME": str(self.home),
            "USER": name,
            "PI_CODING_AGENT_DIR": str(self.agent_dir),
        }
        self._tmux(
            *("new-session", "-d", "-x", "100", "-y", "40", "-c", str(self.home / "project")),
            *(sys.executable, "-m", "pi", "-e", str(model), "--model", "faux/faux"),
        )
        self.wait("Ask anything")

    def _tmux(self, *words: str) -> str:
        # A server of its own: its environment is the one of the first command.
        done = subprocess.run(
            ["tmux", "-L", self._name, *words], env=self.environ, capture_output=True, check=False
        )
        return done.stdout.decode()

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-J", "-S", "-500")

    def editor(self) -> str:
        """The rows between the last two rules."""
        lines = self.screen().splitlines()
        rules = [at for at, line in enumerate(lines) if line.startswith("────")]
        return "\n".join(lines[rules[-2] + 1 : rules[-1]]) if len(rules) > 1 else ""

    def wait(self, text: str) -> None:
        until(lambda: text in self.screen(), f"{text!r} is not on the screen", self.screen)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)
        self.keys("Enter")

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def pi(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pi", *words], env=self.environ, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def close(self) -> None:
        self._tmux("kill-server")

    def log(self) -> bytes:
        """The newest session file, or the copy of a guest."""
        places = (self.agent_dir / "sessions", self.agent_dir / "extension-data")
        files = [each for place in places for each in place.rglob("*.jsonl")]
        return max(files, key=lambda each: each.stat().st_mtime_ns).read_bytes() if files else b""


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Terminal, Terminal]]:
    model = tmp_path / "model.py"
    model.write_text(MODEL)
    host = Terminal(tmp_path, "hanna", model)
    guest = Terminal(tmp_path, "gus", model)
    yield host, guest
    guest.close()
    host.close()


class Browser:
    """The browser client as a third guest."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def join(self, address: str) -> None:
        self.page.goto(address)
        self.wait_live()

    def wait_live(self) -> None:
        self.page.locator("#status[data-kind=live]").wait_for(timeout=SECONDS * 1000)

    def wait(self, text: str) -> None:
        self.page.locator("#transcript", has_text=text).wait_for(timeout=SECONDS * 1000)

    def type(self, text: str) -> None:
        self.page.fill("#prompt", text)
        self.page.press("#prompt", "Enter")

    def rows(self) -> list[str]:
        """The ids of the entries that are drawn."""
        found: list[str] = self.page.eval_on_selector_all(
            ".row[data-id]", "all => all.map(each => each.dataset.id)"
        )
        return found


@pytest.fixture
def browser() -> Iterator[Browser]:
    with playwright.sync_playwright() as engines:
        chromium = engines.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield Browser(chromium.new_page())
        chromium.close()


def drawn(log: bytes) -> list[str]:
    """The ids of the entries of a session file that a page draws."""
    entries = [json.loads(line) for line in log.splitlines()]
    return [
        each["id"]
        for each in entries
        if each["type"] == "compaction"
        or (each["type"] == "message" and each["message"]["role"] in ("user", "assistant"))
    ]


def in_step(host: Terminal, guest: Terminal, browser: Browser) -> None:
    """The logs are equal byte for byte, and the page shows the same entries in the same order."""
    until(lambda: host.log() and host.log() == guest.log(), "the logs differ")
    expected = drawn(host.log())
    until(lambda: [id for id in browser.rows() if id in expected] == expected, "the page differs")


def test_two_terminals_and_a_browser_stay_synchronised(
    pair: tuple[Terminal, Terminal], browser: Browser
) -> None:
    host, guest = pair
    relay = RelayProcess()
    all_three = (host, guest, browser)
    try:
        host.type("hello there")
        host.wait("Answer to: hello there")
        host.type(f"/collab ws://127.0.0.1:{relay.port}")
        host.wait("This session is shared")
        link = host.pi("collab", "link")
        assert json.loads(host.pi("collab", "list", "--json"))["cwd"].endswith("project")
        guest.type(f"/join {link}")
        browser.join(f"http://127.0.0.1:{relay.port}/#{link.rpartition('/')[2]}")
        for each in (guest, browser):
            each.wait("Answer to: hello there")
        in_step(*all_three)

        guest.type("run the tool")  # tools, with the badge of the guest
        for each in all_three:
            each.wait("The tool has run.")
        for terminal in pair:
            assert "gus" in terminal.screen()
        assert browser.page.locator(".badge", has_text="gus").count() == 1
        assert browser.page.locator(".card.done").count() == 1
        in_step(*all_three)

        browser.type("hello from the browser")
        for each in all_three:
            each.wait("Answer to: hello from the browser")

        host.type("a long one")  # steering, by a guest and from the browser
        guest.wait("word30")
        guest.type("to the left")
        for each in all_three:
            each.wait("Answer to: to the left")
        host.type("one more that is long")
        browser.page.locator(".live", has_text="word30").wait_for(timeout=SECONDS * 1000)
        browser.type("to the right")
        for each in all_three:
            each.wait("Answer to: to the right")
        in_step(*all_three)

        host.type("another long one")  # abort by the guest
        until(lambda: guest.screen().count("word30") > 2, "the third answer")
        guest.keys("Escape")
        for each in all_three:
            each.wait("Interrupted")
        in_step(*all_three)

        guest.type("!echo no")  # commands that only the host may use
        guest.wait("Cannot run commands")
        guest.type("/compact in a few words")
        guest.wait("Cannot compact")

        port = relay.port
        host.type("yet another long one")  # the relay is killed in the middle
        until(lambda: guest.screen().count("word30") > 3, "the fourth answer")
        relay.stop(9)
        guest.wait("reconnecting")
        host.wait("finis")
        relay = RelayProcess(str(port))
        guest.wait("3 here")
        browser.wait_live()
        in_step(*all_three)

        host.type("/compact in a few words")  # compaction
        until(lambda: b'"type":"compaction"' in host.log(), "no compaction")
        in_step(*all_three)

        host.type("/fork")  # another session under the same link
        host.wait("Escape cancel")
        host.keys("Enter")
        host.wait("Share the other session")
        host.keys("Down", "Enter")
        # The editor has the forked message once the other session is open and shared.
        until(lambda: "yet another long one" in host.editor(), "the fork", host.screen)
        host.wait("shared with 2")
        host.keys("C-u")
        until(lambda: "yet another" not in host.editor(), "an empty editor", host.screen)
        host.type("in the fork")
        for each in all_three:
            each.wait("Answer to: in the fork")
        in_step(*all_three)

        host.type("/collab stop")
        guest.wait("New session")
        browser.page.locator("#status[data-kind=ended]").wait_for(timeout=SECONDS * 1000)
        assert browser.problems == []
    finally:
        relay.stop()
