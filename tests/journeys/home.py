"""The home of a user, and the folder in which the user works, in a given state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.journeys.model_server import ModelServer

PROVIDER = "loop"
"""The provider that ``use_model`` writes."""
LATER = "9999.0.0"
"""A version whose changelog the user has read, so that none is shown."""


class Home:
    """Files below ``~`` and in the working folder; a new one is empty."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "home"
        self.cwd = folder / "work"
        self.path.mkdir()
        self.cwd.mkdir()

    @property
    def agent_dir(self) -> Path:
        """``~/.pi/agent``."""
        return self.path / ".pi" / "agent"

    def write(self, name: str, content: str) -> Path:
        """Write a file of the agent directory."""
        path = self.agent_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def write_work(self, name: str, content: str) -> Path:
        """Write a file of the working folder."""
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def use_settings(self, **settings: Any) -> None:
        """Merge these into ``settings.json``; the changelog is read already."""
        merged = {"lastChangelogVersion": LATER, **self.settings, **settings}
        self.write("settings.json", json.dumps(merged))

    def use_recommended(self) -> None:
        """Switch the recommended batteries on."""
        self.use_settings(batteries="recommended")

    def use_model(self, server: ModelServer, *ids: str, **fields: Any) -> None:
        """Write a ``models.json`` with one provider at ``server``; ``fields`` go to each model."""
        models = [{"id": id, **fields} for id in ids or ("one",)]
        provider = {
            "baseUrl": server.url,
            "api": "openai-completions",
            "apiKey": "k",
            "models": models,
        }
        self.write("models.json", json.dumps({"providers": {PROVIDER: provider}}))

    def use_login(self, provider: str = "anthropic", key: str = "sk-ant-of-a-journey") -> None:
        """Write an ``auth.json`` with one API key."""
        path = self.write("auth.json", json.dumps({provider: {"type": "api_key", "key": key}}))
        path.chmod(0o600)

    def add_session(self, text: str, *, id: str, cwd: Path | None = None) -> Path:
        """Write a session of one exchange, of this folder unless another is named."""
        folder = cwd or self.cwd
        time = "2026-01-02T03:04:05.000Z"
        user = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}
        assistant = {
            "role": "assistant",
            "content": [{"type": "text", "text": f"About {text}."}],
            "api": "openai-completions",
            "provider": PROVIDER,
            "model": "one",
            "usage": {
                "input": 1,
                "output": 1,
                "cacheRead": 0,
                "cacheWrite": 0,
                "totalTokens": 2,
                "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0),
            },
            "stopReason": "stop",
            "timestamp": 2,
        }
        entry = {"type": "message", "timestamp": time}
        lines = (
            {"type": "session", "version": 3, "id": id, "timestamp": time, "cwd": str(folder)},
            {**entry, "id": "aaaaaaaa", "parentId": None, "message": user},
            {**entry, "id": "bbbbbbbb", "parentId": "aaaaaaaa", "message": assistant},
        )
        name = f"--{str(folder).strip('/').replace('/', '-')}--"
        file = f"sessions/{name}/2026-01-02T03-04-05-000Z_{id}.jsonl"
        return self.write(file, "".join(f"{json.dumps(line)}\n" for line in lines))

    @property
    def settings(self) -> dict[str, Any]:
        """What ``settings.json`` holds; empty if there is none."""
        path = self.agent_dir / "settings.json"
        if not path.exists():
            return {}
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return value

    @property
    def sessions(self) -> list[list[dict[str, Any]]]:
        """The lines of every stored session, the oldest first."""
        files = sorted(self.agent_dir.glob("sessions/*/*.jsonl"))
        texts = (file.read_text(encoding="utf-8") for file in files)
        return [[json.loads(line) for line in text.splitlines()] for text in texts]

    @property
    def log(self) -> str:
        """What ``pi.log`` holds."""
        path = self.agent_dir / "pi.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""
