"""pi starts in an empty folder, and files that need trust are added later.

Trust must be decided before the project is read again. The audit hook of Python sees every opened
file, every listed folder, every import and every started program.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from bench.terminal import Terminal, terminal
from pi.coding.other_agents import AGENTS
from pi.coding.trust import CONTEXT_FILES
from tests.files import put
from tests.sampling import sampled
from tests.stories.audit_fixture import AUDITED, AuditFixture
from tests.stories.hostile import INJECTION
from tests.stories.loopback_model import loopback_model

TIMEOUT_SECONDS = 60.0
ESCAPE = b"\x1b"
PAUSE = 0.9
"""Seconds without a key after which a dialog accepts keys: see ``typing_pause.py``."""
MAY_BE_READ = {".git/HEAD", ".git/reftable/tables.list"}
AGENT_NAMES = {
    name.partition("/")[0]
    for agent in AGENTS.values()
    for names in agent.project.values()
    for name in names
}
GATED_NAMES = {".pi", ".env", ".clinerules", *AGENT_NAMES, *CONTEXT_FILES}
OWN_EXTENSION = """
def extension(pi):
    @pi.command("again")
    async def again(arguments, ctx):
        await ctx.reload()

    @pi.command("look")
    async def look(arguments, ctx):
        for kind in ("rules", "skills", "prompts"):
            ctx.resources.load(kind)
"""


class Client:
    """An RPC client of pi in the project."""

    def __init__(self, kit: AuditFixture, *flags: str) -> None:
        words = [sys.executable, str(AUDITED), str(kit.log), "cli", "--mode", "rpc"]
        self._child = subprocess.Popen(
            [*words, "--model", "mine/m", *flags],
            cwd=kit.project.cwd,
            env=kit.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.stderr = ""
        self._questions: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._child as child:
            if kind is not None:
                child.kill()
            _, self.stderr = child.communicate(timeout=TIMEOUT_SECONDS)
        assert kind is not None or child.returncode == 0, self.stderr

    def ask(self, command: str, **fields: Any) -> Any:
        """Send a command, which must succeed. Returns its data."""
        self._send({"type": command, "id": command, **fields})
        answer = self._await(lambda line: line.get("type") == "response")
        assert answer["success"], answer
        return answer.get("data")

    def prompt(self, text: str, *, answer: str | None = None) -> None:
        """Send a prompt, answer a dialog if an answer is given, and wait until the agent ends."""
        self._send({"type": "prompt", "message": text})
        if answer is not None:
            self.answer(self.question(), answer)
        self._await(lambda line: line.get("type") == "agent_settled")

    def question(self) -> dict[str, Any]:
        """Wait for the first dialog and return it; ``answer`` sends its answer."""
        if not self._questions:
            self._await(lambda line: line.get("method") == "select")
        return self._questions.pop(0)

    def answer(self, question: dict[str, Any], value: str) -> None:
        """Answer a dialog."""
        self._send({"type": "extension_ui_response", "id": question["id"], "value": value})

    def _send(self, request: dict[str, Any]) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(request) + "\n")
        self._child.stdin.flush()

    def _await(self, requested: Any) -> dict[str, Any]:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            found: dict[str, Any] = json.loads(line)
            if found.get("method") == "select":
                self._questions.append(found)
            if requested(found):
                return found
        raise AssertionError("pi has ended")


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[AuditFixture]:
    with loopback_model() as model:
        yield AuditFixture(tmp_path, model, empty=True)


def touched(kit: AuditFixture) -> set[str]:
    """Return what was opened, listed, imported or started and needs trust."""
    outcome = kit.audited()
    listed = {name for name in outcome.listed if GATED_NAMES & set(Path(name).parts)}
    return (outcome.opened - MAY_BE_READ) | listed | {*outcome.imported, *outcome.started}


def replace_session_in_every_way(client: Client, *, extended: bool) -> None:
    """Clone, fork, resume, reload if the user has an extension for it, and start a new session."""
    first = client.ask("get_state")["sessionFile"]
    client.ask("clone")
    [message] = client.ask("get_fork_messages")["messages"]
    client.ask("fork", entryId=message["entryId"])
    client.ask("switch_session", sessionPath=first)
    if extended:
        client.ask("prompt", message="/again")
        client.ask("prompt", message="/look")
    client.ask("new_session")


@pytest.mark.behaviour("trust-uses-canonical-paths")
@pytest.mark.parametrize(
    "extended", sampled([False, True], keep=1), ids=["alone", "with an extension"]
)
def test_files_added_during_an_rpc_session_are_neither_read_nor_run(
    kit: AuditFixture, extended: bool
) -> None:
    if extended:
        put(kit.agent_dir / "extensions/mine.py", OWN_EXTENSION)
    with Client(kit) as client:
        client.prompt("hello")
        kit.project.arrive()
        replace_session_in_every_way(client, extended=extended)
        client.prompt("/evil")
    notices = [line for line in client.stderr.splitlines() if "Not trusted" in line]

    assert touched(kit) == set()
    assert kit.loot == []
    assert [INJECTION in request for request in kit.model.requests] == [False, False]
    assert str(kit.project.cwd / ".pi/extensions") in notices[0]


def test_files_added_later_are_reported_once_as_not_trusted(kit: AuditFixture) -> None:
    put(kit.project.cwd / "AGENTS.md", INJECTION)
    with Client(kit) as client:
        client.prompt("hello")
        extension = kit.project.cwd / ".pi/extensions/late.py"
        put(extension, "")
        client.ask("new_session")
        client.ask("new_session")
    notices = [line for line in client.stderr.splitlines() if "Not trusted" in line]

    assert ["AGENTS.md" in line for line in notices] == [True, False]
    assert [str(extension.parent) in line for line in notices] == [False, True]


@pytest.mark.parametrize("how", sampled(["flag", "stored"], keep=1))
def test_an_earlier_trust_decision_applies_to_files_added_later(
    kit: AuditFixture, how: str
) -> None:
    if how == "stored":
        trust = json.dumps({str(kit.project.cwd): True})
        (kit.agent_dir / "trust.json").write_text(trust)
    with Client(kit, *(["--approve"] if how == "flag" else [])) as client:
        client.prompt("hello")
        put(kit.project.cwd / ".pi/extensions/late.py", f"open({str(kit.home / 'ran')!r}, 'w')")
        client.ask("new_session")

    assert (kit.home / "ran").exists()
    assert "Not trusted" not in client.stderr


class Screen:
    """A user at a terminal; the audit log is checked at every trust dialog."""

    def __init__(self, kit: AuditFixture, seen: Terminal) -> None:
        self._kit = kit
        self.terminal = seen

    def press(self, keys: bytes, *, until: bytes) -> None:
        """Press keys, and wait for the expected output."""
        self.terminal.send(keys)
        self.terminal.wait_for(until, within=TIMEOUT_SECONDS)

    def sees_question(self, keys: bytes) -> None:
        """Press keys, wait for the trust dialog, and check that nothing was read."""
        self.press(keys, until=rb"Do not trust \(this session only\)")
        assert touched(self._kit) == set()

    def answer(self, keys: bytes, *, until: bytes) -> None:
        """Answer after a pause: keys typed without a pause are not accepted as an answer."""
        self.terminal.watch(PAUSE)
        self.press(keys, until=until)


@pytest.mark.full
@pytest.mark.behaviour("trust-uses-canonical-paths")
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_the_user_is_asked_before_files_added_during_a_session_are_read(kit: AuditFixture) -> None:
    audited = [sys.executable, str(AUDITED), str(kit.log), "cli", "--model", "mine/m"]
    environ = {**kit.environ, "TERM": "xterm-256color"}
    with terminal(audited, cwd=kit.project.cwd, env=environ) as seen:
        screen = Screen(kit, seen)
        seen.wait_for(rb"/help for commands", within=TIMEOUT_SECONDS)
        screen.press(b"hello\r", until=rb"All is well\.")
        kit.project.arrive()
        screen.sees_question(b"/new\r")
        screen.answer(ESCAPE, until=rb"New session started")
        screen.sees_question(b"/reload\r")  # the decision is still pending
        screen.answer(ESCAPE, until=rb"[Rr]eloaded")
        screen.press(b"/resume\r", until=rb"hello")
        screen.sees_question(b"\r")
        assert kit.loot == []
        screen.answer(b"\r", until=rb"All is well\.")  # trusts the project; the session is shown
        screen.press(b"/evil\r", until=rb"All is well\.")
        screen.press(b"/quit\r", until=rb"To resume")
        ended = seen.finish(within=TIMEOUT_SECONDS)

    assert ended.exit_code == 0
    assert [INJECTION in request for request in kit.model.requests] == [False, True]
    assert any(name.startswith("pi_extension_evil") for name in kit.loot)
    assert json.loads((kit.agent_dir / "trust.json").read_text()) == {str(kit.project.cwd): True}
