from __future__ import annotations

from collections.abc import Sequence

import pytest

from pi.ai.messages import Image
from pi.coding.runtime.live import RemoteSession, RemoteSessionError


class FakeRemote:
    """Remembers what it was asked."""

    def __init__(self, *capabilities: str) -> None:
        self.capabilities = capabilities
        self.asked: list[str] = []

    async def prompt(self, text: str, images: Sequence[Image], *, streaming: str | None) -> None:
        self.asked.append(f"{text} {streaming}")

    async def abort(self) -> None:
        self.asked.append("abort")


async def test_what_is_said_here_is_answered_there() -> None:
    remote = FakeRemote("prompt", "abort")
    elsewhere = RemoteSession(remote)

    await elsewhere.prompt("hello", (), streaming="steer")
    await elsewhere.abort()

    assert remote.asked == ["hello steer", "abort"]


async def test_who_only_shows_something_is_not_asked() -> None:
    remote = FakeRemote()
    elsewhere = RemoteSession(remote)

    with pytest.raises(RemoteSessionError, match="Cannot send a prompt"):
        await elsewhere.prompt("hello", (), streaming=None)
    await elsewhere.abort()

    assert remote.asked == []
