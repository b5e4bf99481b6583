"""A whole session with extensions that are functions of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.events import StreamEvent
from pi.ai.providers.faux import Step
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.model_wraps import ModelRequest, ModelWrap, SendRequest
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.extension_host.host import ExtensionHost
from pi.coding.port.ui import ExtensionUI
from pi.coding.runtime.session.agent_session import AgentSession
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture

Extension = Callable[[ExtensionAPI], Any]


class ExtensionFixture:
    """A running session with its fixture."""

    def __init__(self, fixture: SessionFixture, session: AgentSession) -> None:
        self.fixture = fixture
        self.session = session

    @property
    def host(self) -> ExtensionHost:
        """The host of the extensions."""
        return self.session.extensions.hosting.host

    @property
    def failures(self) -> list[str]:
        """The failures of extensions, as reported to clients."""
        kinds = [
            event for event in self.fixture.events if type(event).__name__ == "ExtensionFailed"
        ]
        return [f"{event.event}: {event.error}" for event in kinds]

    def emitted(self, name: str) -> list[Any]:
        """The public events of one kind."""
        return [event for event in self.fixture.events if type(event).__name__ == name]


@asynccontextmanager
async def extension_session(
    tmp_path: Path, *extensions: Extension, steps: tuple[Step, ...] = (), **options: Any
) -> AsyncIterator[ExtensionFixture]:
    """A session with these extensions and this script, started."""
    environ = {**ENVIRON, **options.pop("environ", {})}
    fixture = SessionFixture(tmp_path, *steps, environ=environ)
    extension_options = options.pop("extension_options", {})
    chosen = ExtensionOptions(discover=False, inline=extensions, **extension_options)
    ui = options.pop("ui", None)
    session = await fixture.open(extensions=chosen, **options)
    try:
        if ui is not None:
            session.extensions.attach(ui, "rpc")
        await session.start()
        yield ExtensionFixture(fixture, session)
    finally:
        await session.close()


def recorded_data(session: AgentSession) -> list[Any]:
    """The data of custom entries of the type "recorded"."""
    entries = [msgspec.json.decode(entry) for entry in session.info.entries()]
    return [entry["data"] for entry in entries if entry.get("customType") == "recorded"]


def noting(purposes: list[str]) -> ModelWrap:
    """A wrap that records the purposes of requests."""

    async def note(request: ModelRequest, ask: SendRequest) -> AsyncIterator[StreamEvent]:
        purposes.append(request.purpose)
        async for event in ask(request):
            yield event

    return note


class FakeUI(ExtensionUI):
    """A user who answers every dialog the same way; records what is shown."""

    has_ui = True

    def __init__(self, *, agrees: bool = True) -> None:
        self.agrees = agrees
        self.seen: list[tuple[str, ...]] = []

    async def confirm(self, title: str, message: str, **more: Any) -> bool:
        """Return the fixed answer."""
        self.seen.append(("confirm", title, message))
        return self.agrees

    def notify(self, message: str, kind: Any = None) -> None:
        """Record the call."""
        self.seen.append(("notify", message))

    def set_status(self, key: str, text: str | None) -> None:
        """Record the call."""
        self.seen.append(("status", key, str(text)))
