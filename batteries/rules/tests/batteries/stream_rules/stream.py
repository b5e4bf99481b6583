"""Helpers of the tests of stream rules: rules made of front matter, and sessions with rules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import re2

from pi.ai.providers.faux import Step
from pi.batteries.stream_rules.adapter import extension
from pi.batteries.stream_rules.rules import Registered, StreamRule, StreamSettings, register
from pi.coding.resources.rules import parse_rule
from pi.coding.session.entries import CustomMessage
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)
from tests.files import put

TOOLS = ("bash", "edit", "read", "write")


def rule_text(text: str = "Do not.", **front: Any) -> str:
    """A rule file; JSON is valid YAML."""
    lines = (f"{name}: {msgspec.json.encode(value).decode()}" for name, value in front.items())
    return "\n".join(("---", *lines, "---", text))


def registered(*front: dict[str, Any], **settings: Any) -> Registered:
    """Rules called ``r0``, ``r1`` …"""
    rules = [
        (parse_rule(rule_text(**front_matter), Path(f"/rules/r{number}.md")), "pi")
        for number, front_matter in enumerate(front)
    ]
    return register(rules, StreamSettings(**settings), TOOLS, re2)


def rules(*conditions: str) -> tuple[StreamRule, ...]:
    """A rule for each condition."""
    return registered(*({"condition": condition} for condition in conditions)).rules


@asynccontextmanager
async def ruled(
    tmp_path: Path,
    files: dict[str, str],
    *steps: Step,
    extensions: tuple[Any, ...] = (),
    ttsr: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[ExtensionFixture]:
    """A session in a trusted project with these rules; the bundled ones are off unless named."""
    for name, text in files.items():
        put(tmp_path / "home/project/.pi/rules" / f"{name}.md", text)
    chosen = {"enabled": True, "builtinRules": False, **(ttsr or {})}
    async with extension_session(
        tmp_path,
        extension,
        *extensions,
        steps=steps,
        settings={"ttsr": chosen, **(settings or {})},
        approve=True,
        **options,
    ) as hosted:
        yield hosted


def injections(hosted: ExtensionFixture) -> list[str]:
    """The hidden messages about rules."""
    messages = [m for m in hosted.session.messages if isinstance(m, CustomMessage)]
    return [str(m.content) for m in messages if m.custom_type == "ttsr-injection"]


def recorded(hosted: ExtensionFixture) -> list[list[str]]:
    """The names in every ``ttsr_injection`` entry."""
    entries = [msgspec.json.decode(entry) for entry in hosted.session.info.entries()]
    return [e["data"]["rules"] for e in entries if e.get("customType") == "ttsr_injection"]


def roles(hosted: ExtensionFixture) -> list[str]:
    """The roles in the log, with the stop reasons of answers."""
    entries = [msgspec.json.decode(entry) for entry in hosted.session.info.entries()]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    return [
        f"assistant:{message['stopReason']}" if message["role"] == "assistant" else message["role"]
        for message in messages
        if message["role"] != "system"
    ]


def sent(hosted: ExtensionFixture, number: int) -> str:
    """The messages of a request, as text."""
    return str(hosted.fixture.provider.requests[number].messages)


class Notices(FakeUI):
    """A user who reads notices."""

    @property
    def notices(self) -> list[str]:
        """All of them."""
        return [call[1] for call in self.seen if call[0] == "notify"]
