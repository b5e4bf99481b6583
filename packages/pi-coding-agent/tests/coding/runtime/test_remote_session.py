from __future__ import annotations

from collections.abc import Sequence

import pytest

from pi.ai.messages import Image
from pi.coding.runtime.live import RemoteSession, RemoteSessionError


class FakeRemote:
    """Records the requests."""

    def __init__(self, *capabilities: str) -> None:
        self.capabilities = capabilities
        self.asked: list[str] = []

    async def prompt(self, text: str, images: Sequence[Image], *, streaming: str | None) -> None:
        self.asked.append(f"{text} {streaming}")

    async def abort(self) -> None:
        self.asked.append("abort")


async def test_prompts_are_sent_to_the_remote_session() -> None:
    remote = FakeRemote("prompt", "abort")
    session = RemoteSession(remote)

    await session.prompt("hello", (), streaming="steer")
    await session.abort()

    assert remote.asked == ["hello steer", "abort"]


async def test_a_remote_without_capabilities_gets_no_requests() -> None:
    remote = FakeRemote()
    session = RemoteSession(remote)

    with pytest.raises(RemoteSessionError, match="Cannot send a prompt"):
        await session.prompt("hello", (), streaming=None)
    await session.abort()

    assert remote.asked == []
