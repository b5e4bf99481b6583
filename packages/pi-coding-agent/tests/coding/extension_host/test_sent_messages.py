from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import AssistantMessage, Image, Text, UserMessage, blocks
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.messages import NextTurnMessages
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.session.entries import Custom, CustomMessage
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


def message_texts(hosted: ExtensionFixture) -> list[str]:
    texts = []
    for message in hosted.session.messages:
        if isinstance(message, UserMessage | AssistantMessage | CustomMessage):
            parts = blocks(message.content)  # type: ignore[arg-type]
            texts.append("".join(part.text for part in parts if isinstance(part, Text)))
    return [text for text in texts if text]


def speaker(*sent: Any, **how: Any) -> Any:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("say")
        async def say(args: str, ctx: Any) -> None:
            await pi.send_message({"custom_type": "x", "content": args}, **how)

    return extension


@pytest.mark.behaviour("recorded-message-starts-nothing")
async def test_a_message_without_trigger_turn_starts_no_run(tmp_path: Path) -> None:
    async with extension_session(tmp_path, speaker()) as hosted:
        await hosted.session.prompt("/say noted")

        assert message_texts(hosted) == ["noted"]
        assert hosted.fixture.order == ["message_start", "message_end"]
        assert hosted.fixture.provider.requests == []


async def test_a_message_with_trigger_turn_starts_a_run_that_the_prompt_awaits(
    tmp_path: Path,
) -> None:
    async with extension_session(
        tmp_path, speaker(trigger_turn=True), steps=(says("fine"),)
    ) as hosted:
        await hosted.session.prompt("/say how are you?")

        assert message_texts(hosted) == ["how are you?", "fine"]


async def test_a_message_for_the_next_turn_follows_the_next_prompt(tmp_path: Path) -> None:
    extension = speaker(deliver_as="next_turn")
    async with extension_session(tmp_path, extension, steps=(says("ok"), says("ok"))) as hosted:
        await hosted.session.prompt("/say by the way")
        await hosted.session.prompt("hello")
        await hosted.session.prompt("again")

        assert message_texts(hosted) == ["hello", "by the way", "ok", "again", "ok"]


@pytest.mark.parametrize("deliver_as", ["steer", "follow_up", None])
async def test_a_message_during_a_run_is_delivered_as_requested(
    tmp_path: Path, deliver_as: Any
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        async def remark(event: Any, ctx: Any) -> None:
            message = {"custom_type": "x", "content": "a remark"}
            await pi.send_message(message, deliver_as=deliver_as)

    steps = (calls("bash", command="true"), says("one"), says("two"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        later = ["go", "one", "a remark", "two"]
        assert message_texts(hosted) == (
            later if deliver_as == "follow_up" else ["go", "a remark", "one"]
        )


async def test_an_extension_can_send_user_messages(tmp_path: Path) -> None:
    picture = Image(data="AA==", mime_type="image/png")

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            await pi.send_user_message([Text(text=f"/ask {args}"), picture])

        @pi.on("tool_call")
        async def busy(event: Any, ctx: Any) -> None:
            with pytest.raises(ExtensionError, match="already running"):
                await pi.send_user_message("x")
            await pi.send_user_message("hurry", deliver_as="steer")

    steps = (calls("bash", command="true"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("/ask me")

        assert message_texts(hosted) == ["/ask me", "hurry", "done"]
        (first, *_) = [m for m in hosted.session.messages if isinstance(m, UserMessage)]
        assert picture in first.content


async def test_a_run_that_cannot_start_is_reported(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            await pi.send_user_message("hello")

    async with extension_session(tmp_path, extension, model=None) as hosted:
        hosted.session._core.has_model = False
        await hosted.session.prompt("/ask")
        await asyncio.sleep(0)

        assert "could not start a run: No API key" in hosted.fixture.reports[-1]


async def test_an_entry_is_stored_and_emitted(tmp_path: Path) -> None:
    ids: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("keep")
        async def keep(args: str, ctx: Any) -> None:
            ids.append(await pi.append_entry("state", {"n": 1}))

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/keep")

        (reported,) = hosted.emitted("EntryAppended")
        assert reported.entry["id"] == ids[0]
        assert reported.entry["data"] == {"n": 1}
        assert message_texts(hosted) == []


def test_a_next_turn_message_is_sent_once() -> None:
    waiting = NextTurnMessages()
    message = CustomMessage(custom_type="x", content="y")
    waiting.add(message)

    assert (waiting.take(), waiting.take()) == ((message,), ())


async def test_entries_and_labels_need_no_await(tmp_path: Path) -> None:
    unknown: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("keep")
        def keep(args: str, ctx: Any) -> None:
            pi.append_entry("state", {"n": 1})
            first = ctx.session_manager.get_leaf_id()
            pi.append_entry("state", {"n": 2})
            pi.set_label(first, "here")
            with pytest.raises(ExtensionError, match="Entry not found: nowhere") as refused:
                pi.set_label("nowhere", "x")
            unknown.append(str(refused.value))

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/keep")
        assert hosted.failures == []
        log = hosted.session.entries.log
        entries = [entry for entry in log.entries() if isinstance(entry, Custom)]
        assert [entry.data for entry in entries] == [{"n": 1}, {"n": 2}]
        assert log.labels[entries[0].id].label == "here"
    assert unknown
