"""A program that embeds pi: its folders, and a script in place of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from pi.agent.tools.define import tool
from pi.ai.messages import SystemMessage
from pi.ai.providers.faux import Step
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.discovery import discover_models
from pi.coding.runtime.embedding import (
    AgentSessionOptions,
    create_agent_session,
)
from pi.coding.runtime.session.agent_session import AgentSession
from pi.testing import ScriptedProvider
from tests.files import put


class Program:
    """Its folders below ``tmp_path``, and ``reports``: the reported messages."""

    def __init__(self, tmp_path: Path, *steps: Step) -> None:
        self.cwd, self.agent_dir = tmp_path / "project", tmp_path / "agent"
        self.cwd.mkdir()
        self.provider = ScriptedProvider(*steps)
        self.reports: list[str] = []

    def registry(self) -> ModelRegistry:
        registry = discover_models(self.cwd, self.agent_dir)
        registry.models.register(self.provider)
        return registry

    def options(self, **changes: Unpack[AgentSessionOptions]) -> AgentSessionOptions:
        usual: AgentSessionOptions = {
            "cwd": self.cwd,
            "agent_dir": self.agent_dir,
            "model": "faux/faux",
            "report": self.reports.append,
        }
        if "model_registry" not in changes:
            usual["model_registry"] = self.registry()
        usual.update(changes)
        return usual

    async def session(self, **changes: Unpack[AgentSessionOptions]) -> AgentSession:
        return (await create_agent_session(**self.options(**changes))).session

    def prompt_of(self, number: int = -1) -> str:
        """The system prompt of a request, as one text."""
        messages = self.provider.requests[number].messages
        reported = [message for message in messages if isinstance(message, SystemMessage)]
        return "\n\n".join(
            text for message in reported for text in (message.sections or {}).values() if text
        )

    def project(self) -> None:
        """Add a resource of every discovered kind to the project."""
        put(self.cwd / "AGENTS.md", "Speak French.")
        put(self.cwd / ".pi/skills/dance/SKILL.md", "---\ndescription: how to dance\n---\nJump.")
        put(self.cwd / ".pi/prompts/greet.md", "Say hello to $1.")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
