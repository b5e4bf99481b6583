"""Keys of the stores of an extension, and unread items of its feeds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


@pytest.mark.parametrize("place", ["session", "project", "global"])
async def test_a_store_lists_its_keys(
    tmp_path: Path, place: Literal["session", "project", "global"]
) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append):
        store = apis[0].store(place)
        assert store.keys() == ()
        for key in ("a", "b", "c"):
            await store.set(key, 1)
        await store.delete("b")
        assert store.keys() == ("a", "c")


async def test_a_feed_counts_its_unread_items(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append):
        feed = apis[0].feed()
        assert feed.pending == 1
        await anext(feed)
        assert feed.pending == 0
        await apis[0].append_entry("note", {"n": 1})
        assert feed.pending > 0
