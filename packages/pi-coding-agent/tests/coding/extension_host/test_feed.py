from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.readers import Feed
from pi.coding.port.remote import FeedItem
from tests.coding.extension_host.extension_session import extension_session


async def taken(feed: Feed) -> list[FeedItem]:
    feed.close()
    return [item async for item in feed]


async def test_a_feed_yields_a_snapshot_and_then_entries_and_events_in_order(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append, steps=(says("one"),)) as hosted:
        feed = apis[0].feed()
        await hosted.session.prompt("hello")
        (fork_point,) = hosted.session.info.fork_points()
        await hosted.session.tree.go_to(fork_point.entry_id)
        await apis[0].publish("ping", 1)
        items = await taken(feed)
        entries = [entry.id for entry in hosted.session.entries.log.entries()]

    snapshot, *rest = items
    assert snapshot.kind == "snapshot"
    ids = [entry["id"] for entry in snapshot.data["entries"]]
    assert ids + [item.data["id"] for item in rest if item.kind == "entry"] == entries
    assert [item.seq for item in items] == list(range(1, len(items) + 1))
    kinds = [
        item.data.get("message", {}).get("role", item.data["type"])
        for item in rest
        if item.kind == "entry"
    ]
    assert kinds == ["system", "user", "assistant"]
    assert rest[-2].kind == "leaf"
    assert rest[-1].data == {"type": "extension_event", "name": "ping", "data": 1}
    first_answer = next(
        index
        for index, item in enumerate(rest)
        if item.kind == "entry" and item.data["message"]["role"] == "assistant"
    )
    assert rest[first_answer + 1].data["type"] == "message_end"


async def test_a_feed_reports_selections_and_moves_without_an_event(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append, steps=(says("one"),)) as hosted:
        await hosted.session.prompt("hello")
        feed = apis[0].feed()
        first = await anext(feed)
        (fork_point,) = hosted.session.info.fork_points()
        await hosted.session.tree.go_to(fork_point.entry_id)
        await hosted.session.set_thinking_level("high")
        items = await taken(feed)

    assert first.data["state"]["thinkingLevel"] != "high"
    moves = [(item.kind, item.data) for item in items if item.kind in ("leaf", "state")]
    assert [kind for kind, _ in moves] == ["leaf", "state"]
    assert moves[-1][1]["thinkingLevel"] == "high"


async def test_a_reader_that_starts_mid_answer_gets_the_partial_answer(
    tmp_path: Path,
) -> None:
    partial: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("message_update")
        def look(event: Any, ctx: Any) -> None:
            feed = pi.feed()
            feed.close()
            partial.append(feed)

    async with extension_session(tmp_path, extension, steps=(says("one two three"),)) as hosted:
        await hosted.session.prompt("hello")
        snapshots = [await anext(feed) for feed in partial]

    texts = [item.data["partial"]["content"][0]["text"] for item in snapshots[1:-1]]
    assert texts == sorted(texts, key=len)
    assert texts[-1].startswith("one two")


async def test_a_reader_that_is_far_behind_gets_a_new_snapshot(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append, steps=(says("a b c d e f g h"),)) as hosted:
        feed = apis[0].feed(size=5)
        await hosted.session.prompt("hello")
        items = await taken(feed)

    assert items[0].kind == "snapshot"
    assert len(items) <= 6


async def test_a_feed_ends_with_the_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append) as hosted:
        feed = apis[0].feed()
        await hosted.session.new_session()

        kinds = [item.kind async for item in feed]
    assert kinds[0] == "snapshot"
