"""Deferred extensions with manifests."""

from __future__ import annotations

from pathlib import Path

from pi.ai.messages import Text, ToolResultMessage
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.entries import CustomMessage
from tests.coding.runtime.session_fixture import SessionFixture

STARTED = """\
@pi.on("session_start")
async def begin(event, ctx):
    await pi.send_message({"custom_type": "begun", "content": event.reason})
"""
"""Sends the reason of the session start as a message."""


def kit(fixture: SessionFixture, manifest: str, body: str) -> Path:
    """An extension in a folder, with a manifest."""
    fixture.write(".pi/agent/extensions/kit/pi.toml", manifest)
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    code = f"def extension(pi):\n{lines}"
    return fixture.write(".pi/agent/extensions/kit/__init__.py", code).parent


def sent_texts(session: AgentSession) -> list[str]:
    """The texts of results of tools, and of messages that extensions sent."""
    texts = []
    for message in session.messages:
        match message:
            case (
                ToolResultMessage(content=(Text(text=text), *_)) | CustomMessage(content=str(text))
            ):
                texts.append(text)
    return texts
