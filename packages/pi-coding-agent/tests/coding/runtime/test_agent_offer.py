"""The question about files of other agents in the home directory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pi.coding.other_agents import AgentUse
from pi.coding.runtime.agent_offer import IGNORE, USE, agent_use, offer_agents
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from pi.coding.runtime.workspace import own_settings
from tests.files import put


class Answering:
    """A user with scripted answers; records the questions."""

    has_ui = True

    def __init__(self, *answers: str | None) -> None:
        self._answers = iter(answers)
        self.questions: list[str] = []

    async def select(self, title: str, options: Sequence[Any]) -> str | None:
        self.questions.append(title)
        return next(self._answers)


def machine(tmp_path: Path, reports: list[str]) -> Machine:
    environ = {"HOME": str(tmp_path)}
    put(tmp_path / ".claude/skills/mine/SKILL.md", "")
    put(tmp_path / ".codex/AGENTS.md", "")
    return Machine.from_environ(environ, report=reports.append)


async def offer(host: Machine, ui: Any, *, reports: bool = True) -> tuple[bool, AgentUse]:
    settings = own_settings(host, SessionOptions())
    accepted = await offer_agents(host, settings, ui, reports=reports)
    return accepted, agent_use(host, settings)


async def test_the_user_is_asked_once_about_each_agent(tmp_path: Path) -> None:
    host, ui = machine(tmp_path, []), Answering(USE.label, IGNORE.label)

    accepted, use = await offer(host, ui)
    again, _ = await offer(host, ui)

    assert (accepted, again) == (True, False)
    assert use.accepted == {"claude"}
    assert len(ui.questions) == 2
    assert "~/.claude/skills" in ui.questions[0]
    stored = json.loads((tmp_path / ".pi/agent/consent.json").read_text())["decisions"]
    assert [(decision["name"], decision["allowed"]) for decision in stored.values()] == [
        ("Claude Code", True),
        ("Codex", False),
    ]


async def test_an_unanswered_question_about_an_agent_is_repeated(tmp_path: Path) -> None:
    host, ui = machine(tmp_path, []), Answering(None, None, USE.label, USE.label)

    assert await offer(host, ui) == (False, AgentUse())
    accepted, use = await offer(host, ui)
    assert accepted
    assert use.accepted == {"claude", "codex"}


async def test_without_a_user_unused_agents_are_reported_in_one_line(tmp_path: Path) -> None:
    reports: list[str] = []
    host = machine(tmp_path, reports)

    assert await offer(host, None) == (False, AgentUse())
    assert reports == [
        "Not used: your own files of Claude Code, Codex."
        " Start pi to decide, or set sources.claude, sources.codex."
    ]
    await offer(host, None, reports=False)
    assert len(reports) == 1


async def test_settings_decide_without_a_question(tmp_path: Path) -> None:
    host = machine(tmp_path, [])
    put(tmp_path / ".pi/agent/config.yml", "sources: {claude: true, codex: false}")

    accepted, use = await offer(host, Answering())

    assert not accepted
    assert use.accepted == {"claude"}
    assert use.off == {"codex"}


async def test_with_a_broken_consent_file_no_agent_is_accepted(tmp_path: Path) -> None:
    reports: list[str] = []
    host = machine(tmp_path, reports)
    put(tmp_path / ".pi/agent/consent.json", "{")

    assert (await offer(host, None))[1] == AgentUse()
    assert "Cannot read the consent file" in reports[0]


async def test_a_broken_consent_file_is_reported_once_and_raises_no_error(
    tmp_path: Path,
) -> None:
    reports: list[str] = []
    host = machine(tmp_path, reports)
    put(tmp_path / ".pi/agent/consent.json", "{broken once")

    results = [await offer(host, Answering(USE.label, USE.label)) for _ in range(2)]

    assert [accepted for accepted, _ in results] == [False, False]
    (line,) = reports
    assert "consent.json" in line
    assert "Repair it, or remove it" in line
