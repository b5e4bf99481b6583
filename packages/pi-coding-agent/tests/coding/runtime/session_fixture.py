"""A whole session in temporary folders, with a script in place of a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import chosen_servers, create_models
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL, Step
from pi.base.records import replace
from pi.coding.bus import EventBus
from pi.coding.models.registry import ModelRegistry
from pi.coding.port.ui import Mode
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import LastResort, OpenLog, SessionOptions, SessionOverrides
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.opening import new_session
from pi.coding.trust import AskTrust
from pi.testing import FakeClock, ScriptedProvider

ENVIRON = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


class SessionFixture:
    """Folders, a clock, a bus and a script; ``open`` makes the session."""

    def __init__(self, tmp_path: Path, *steps: Step, environ: Mapping[str, str] = ENVIRON) -> None:
        self.home = tmp_path / "home"
        self.cwd = self.home / "project"
        self.agent_dir = self.home / ".pi" / "agent"
        for folder in (self.cwd, self.agent_dir, tmp_path / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        self.clock = FakeClock()
        self.bus = EventBus()
        self.provider = ScriptedProvider(*steps)
        self.reports: list[str] = []
        self.events: list[Any] = []
        self.host = Machine(
            environ={**environ, "HOME": str(self.home)},
            home=self.home,
            agent_dir=self.agent_dir,
            temp_dir=tmp_path / "tmp",
            clock=self.clock,
            report=self.reports.append,
            import_path=(),
        )
        models = create_models(
            storage=AuthStorage(self.agent_dir / "auth.json"),
            environ=self.host.environ,
            clock=self.clock,
            cwd=self.cwd,
            folder=self.agent_dir,
            chosen=chosen_servers(self.agent_dir),
        )
        models.register(self.provider)
        self.registry = ModelRegistry(models)

    async def open(
        self,
        *,
        model: str | None = "faux/faux",
        persistent: bool = True,
        open_log: OpenLog = new_session,
        reads_log: bool = False,
        cwd: Path | None = None,
        last_resort: LastResort | None = None,
        ask_trust: AskTrust | None = None,
        mode: Mode = "print",
        **options: Any,
    ) -> AgentSession:
        """A session, ready to be prompted."""
        parts = SessionOverrides(
            registry=self.registry,
            open_log=open_log,
            reads_log=reads_log,
            persistent=persistent,
            bus=self.bus,
            last_resort=last_resort,
            ask_trust=ask_trust,
            mode=mode,
        )
        session_options = SessionOptions(model=model, **options)
        built = await assemble(cwd or self.cwd, self.host, session_options, parts)
        if built.note:
            self.reports.append(built.note)
        built.session.subscribe(self.events.append)
        return built.session

    def write(self, name: str, text: str) -> Path:
        """Write a file below the home folder."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def seen(self, session: AgentSession, kind: type[Any]) -> asyncio.Event:
        """Return an event that is set when the session emits an event of that kind."""
        happened = asyncio.Event()
        session.subscribe(lambda event: happened.set() if isinstance(event, kind) else None)
        return happened

    @property
    def order(self) -> list[str]:
        """The types of the emitted events, without deltas."""
        names = [msgspec.to_builtins(event)["type"] for event in self.events]
        return [name for name in names if name != "message_update"]


async def give_way() -> None:
    """Let other tasks run for as long as the start of a run takes."""
    for _ in range(100):
        await asyncio.sleep(0)


def kinds(session: AgentSession) -> list[str]:
    """The kinds of entries that a session has."""
    entries = [msgspec.json.decode(raw) for raw in session.info.entries()]
    return [entry.get("message", entry).get("role", entry["type"]) for entry in entries]


class Pair(ScriptedProvider):
    """Serves two models, of which the second, ``plain``, does not think."""

    def models(self) -> tuple[Model, ...]:
        """Both models."""
        return (FAUX_MODEL, replace(FAUX_MODEL, id="plain", name="Plain", reasoning=False))
