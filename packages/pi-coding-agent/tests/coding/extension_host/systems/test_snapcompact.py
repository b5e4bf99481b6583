"""Snapcompact: a strategy that keeps images, and data from one compaction to the next."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec

from pi.ai.messages import UserMessage
from pi.ai.providers.faux import says
from pi.coding.session.opening import open_session
from pi.extension import CompactionResult, Declined, ExtensionAPI, Image, Text, Work
from tests.coding.extension_host.extension_session import extension_session

PICTURE = Image(data=base64.b64encode(bytes(range(256)) * 8).decode(), mime_type="image/png")
SETTINGS = {"compaction": {"strategy": "snap", "keepRecentTokens": 1}}


class Snap:
    """Renders the conversation and counts how often."""

    async def compact(self, work: Work) -> CompactionResult | Declined:
        if work.preparation is None:
            return Declined(why=work.why_not)
        before = work.previous.preserve_data if work.previous else None
        count = before["count"] + 1 if isinstance(before, dict) else 1
        return CompactionResult(
            summary="What was said is in a picture.",
            first_kept_id=work.preparation.first_kept_id,
            tokens_before=work.tokens,
            content=(Text(text=f"picture {count}"), PICTURE),
            preserve_data={"count": count},
        )


def snap(pi: ExtensionAPI) -> None:
    pi.add_compaction("snap", Snap())


async def test_images_and_data_of_a_compaction_are_restored_from_the_session_file(
    tmp_path: Path,
) -> None:
    steps = (says("one"), says("two"), says("three"), says("four"))
    async with extension_session(tmp_path, snap, steps=steps, settings=SETTINGS) as hosted:
        await hosted.session.prompt("first")
        await hosted.session.prompt("second")
        await hosted.session.compact()
        await hosted.session.prompt("third")
        await hosted.session.compact()
        file = hosted.session.session_file
        assert file is not None
        assert hosted.failures == []
    stored = file.read_text()
    assert PICTURE.data not in stored, "images of compactions are stored outside of the file"
    assert '"data":"blob:sha256:' in stored

    async with extension_session(
        tmp_path, steps=(says("five"),), open_log=lambda location: open_session(file, location)
    ) as again:  # without the extension that wrote it
        await again.session.prompt("fourth")

        asked = [
            message
            for message in again.fixture.provider.requests[0].messages
            if isinstance(message, UserMessage)
        ]
        assert PICTURE in asked[0].content
        assert "picture 2" in str(asked[0].content)
        entries = [msgspec.json.decode(raw) for raw in again.session.info.entries()]
        data = [entry["preserveData"] for entry in entries if entry["type"] == "compaction"]
        assert data == [{"count": 1}, {"count": 2}]


async def test_a_strategy_that_declines_falls_back_to_the_next(tmp_path: Path) -> None:
    class Never:
        async def compact(self, work: Work) -> Declined:
            return Declined(why="no eyes")

    def blind(pi: ExtensionAPI) -> None:
        pi.add_compaction("snap", Never())

    steps = (says("one"), says("two"), *[says("Notes.")] * 2)
    async with extension_session(tmp_path, blind, steps=steps, settings=SETTINGS) as hosted:
        await hosted.session.prompt("word " * 400)
        await hosted.session.prompt("word " * 400)
        result = await hosted.session.compact()

        assert "Notes." in result.summary
