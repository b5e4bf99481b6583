"""A home and a project like those of the recordings, in a folder of the test."""

from __future__ import annotations

import json
from pathlib import Path

from pi.coding.session.writing import session_directory
from tests.modes.golden.recording import LAB, SERVER, SESSIONS, Json


class ReplayHome:
    """Where a replay happens, and how its paths are called in the recording."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self.server = server
        self.home = folder / "home"
        self.agent_dir = self.home / ".pi" / "agent"
        self.project = folder / "proj"
        self.project.mkdir(parents=True)
        (self.project / "a.txt").write_text("alpha\nbeta\ngamma\n")
        self.agent_dir.mkdir(parents=True)
        (self.agent_dir / "models.json").write_text(json.dumps(_models(server)))
        self._sessions = str(session_directory(self.agent_dir, str(self.project), custom=None))

    def write_settings(self, settings: Json) -> None:
        """Have these settings."""
        (self.agent_dir / "settings.json").write_text(json.dumps(settings))

    def add_skill(self) -> None:
        """Have a skill, as some recordings have."""
        skill = self.agent_dir / "skills" / "tidy" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\nname: tidy\ndescription: Tidies up.\n---\nTidy up.\n")

    def as_recorded(self, line: str) -> str:
        """A line of ours, with the recording's places."""
        for ours, theirs in self._places():
            line = line.replace(ours, theirs)
        return line

    def as_ours(self, line: str) -> str:
        """A recorded line, with our places."""
        line = line.replace('"/nope.jsonl"', f'"{LAB}/nope.jsonl"')
        for ours, theirs in self._places():
            line = line.replace(theirs, ours)
        return line

    def _places(self) -> list[tuple[str, str]]:
        return [(self._sessions, SESSIONS), (str(self.folder), LAB), (self.server, SERVER)]


def _models(server: str) -> Json:
    def rates(*prices: float) -> Json:
        return dict(zip(("input", "output", "cacheRead", "cacheWrite"), prices, strict=True))

    chat = {
        "baseUrl": f"{server}/v1",
        "api": "openai-completions",
        "apiKey": "key",
        "models": [
            {"id": "mock-1"},
            {
                "id": "mock-r",
                "name": "Mock Reasoner",
                "reasoning": True,
                "input": ["text", "image"],
                "cost": rates(1, 2, 0.1, 1.25),
                "contextWindow": 32000,
                "maxTokens": 4000,
            },
        ],
    }
    anthropic = {
        "baseUrl": server,
        "api": "anthropic-messages",
        "apiKey": "key",
        "models": [
            {
                "id": "mock-a",
                "reasoning": True,
                "input": ["text", "image"],
                "cost": rates(3, 15, 0.3, 3.75),
                "contextWindow": 200000,
                "maxTokens": 8000,
            }
        ],
    }
    responses = {
        "baseUrl": f"{server}/v1",
        "api": "openai-responses",
        "apiKey": "key",
        "models": [{"id": "mock-o", "reasoning": True}],
    }
    return {"providers": {"mock": chat, "mockant": anthropic, "mockres": responses}}
