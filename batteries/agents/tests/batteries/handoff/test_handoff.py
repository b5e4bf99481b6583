"""The hand-off battery: one document, one new session, nothing lost and no secret written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.errors import ContextOverflow
from pi.ai.messages import Usage
from pi.ai.providers.faux import Reply, Step, calls, says
from pi.ai.request import Call
from pi.base.records import replace
from pi.batteries.handoff.adapter import CANCEL, HERE, NEW, extension
from pi.coding.compaction.events import CompactionEnd
from pi.coding.session.entries import Compaction, CustomMessage
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)

DOCUMENT = "# Goal\n\nBuild the roof. Walls are up. Next: order the tiles for the roof."
ORDER = "Always paint doors green."
AUTO = {"compaction": {"strategy": "handoff", "autoContinue": True}}


def full(reply: Reply) -> Reply:
    return replace(reply, usage=Usage(input=127_000, output=10, total_tokens=127_010))


def asked(hosted: ExtensionFixture, request: int) -> str:
    return str(hosted.fixture.provider.requests[request].messages)


def document(hosted: ExtensionFixture) -> CustomMessage:
    found = [m for m in hosted.session.messages if isinstance(m, CustomMessage)]
    assert [m.custom_type for m in found] == ["handoff"]
    return found[0]


def files(hosted: ExtensionFixture) -> list[Path]:
    return sorted(hosted.fixture.agent_dir.rglob("*.jsonl"))


class ChoosingUI(FakeUI):
    """A user who chooses one option."""

    def __init__(self, choice: str | None) -> None:
        super().__init__()
        self.choice = choice

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        """The fixed choice, which is one of the options."""
        assert self.choice is None or self.choice in options
        return self.choice


async def test_auto_continue_makes_one_document_and_one_new_session(tmp_path: Path) -> None:
    steps = (full(says("walls are up")), says(DOCUMENT), says("roof is up"))
    async with extension_session(tmp_path, extension, steps=steps, settings=AUTO) as hosted:
        answer = await hosted.session.prompt(f"build a house. {ORDER}")

        assert answer is not None
        assert answer.text == "roof is up"
        assert len(hosted.fixture.provider.requests) == 3
        assert len(files(hosted)) == 2
        assert DOCUMENT in str(document(hosted).content)
        assert ORDER in asked(hosted, 2)  # word for word, whatever the model wrote
        assert hosted.fixture.order.count("compaction_start") == 1
        ends = [each for each in hosted.fixture.events if isinstance(each, CompactionEnd)]
        assert [each.handed_off for each in ends] == [True]
        assert hosted.failures == []


async def test_the_document_is_requested_with_the_live_prefix_and_without_tools(
    tmp_path: Path,
) -> None:
    async with extension_session(
        tmp_path, extension, steps=(says("hello"), says(DOCUMENT))
    ) as hosted:
        await hosted.session.prompt("hi")
        await hosted.session.compact("the roof", strategy="handoff")
        await hosted.session.runs.when_idle.held()

        live, asking = hosted.fixture.provider.requests
        assert asking.options.tool_choice == "none"
        assert asking.messages[: len(live.messages)] == live.messages
        assert "the roof" in str(asking.messages[-1])


async def test_a_provider_that_rejects_tool_choice_none_is_retried_with_auto(
    tmp_path: Path,
) -> None:
    refused = Reply(error="tool_choice none is not supported")
    steps = (says("hello"), refused, says(DOCUMENT))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("hi")
        await hosted.session.compact(strategy="handoff")
        await hosted.session.runs.when_idle.held()

        choices = [each.options.tool_choice for each in hosted.fixture.provider.requests]
        assert choices == [None, "none", "auto"]
        assert DOCUMENT in str(document(hosted).content)


async def test_a_response_without_text_is_not_a_document(tmp_path: Path) -> None:
    steps = (says("hello"), calls("bash", command="true"), calls("bash", command="true"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("hi")
        with pytest.raises(CompactionFailed, match="no hand-off document"):
            await hosted.session.compact(strategy="handoff")

        assert len(files(hosted)) == 1


@pytest.mark.behaviour("escape-stops-compaction")
async def test_an_abort_stores_nothing(tmp_path: Path) -> None:
    async with extension_session(tmp_path, extension, steps=(says("hello"),)) as hosted:

        def aborting(call: Call) -> Reply:
            hosted.session.compaction.abort()
            return says(DOCUMENT)

        await hosted.session.prompt("hi")
        first = hosted.session.session_file
        hosted.fixture.provider.add(aborting)
        with pytest.raises(CompactionFailed, match="cancelled"):
            await hosted.session.compact(strategy="handoff")
        await hosted.session.runs.when_idle.held()

        assert hosted.session.session_file == first
        assert DOCUMENT not in str(hosted.session.messages)


async def test_an_empty_session_cannot_be_handed_off(tmp_path: Path) -> None:
    ui = ChoosingUI(NEW)
    async with extension_session(tmp_path, extension, ui=ui) as hosted:
        await hosted.session.prompt("/handoff")

        assert ("notify", "There is nothing to hand off yet.") in ui.seen
        assert hosted.fixture.provider.requests == []


async def test_an_overflow_is_compacted_and_never_handed_off(tmp_path: Path) -> None:
    overflow = ContextOverflow("400: prompt is too long", status=400)
    steps: tuple[Step, ...] = (
        *(says(f"answer {n} " + "w" * 20_000) for n in range(8)),
        overflow,
        says("a summary of what was said"),
        says("the answer"),
    )
    settings = {"compaction": {"strategy": "handoff", "keepRecentTokens": 2000}}
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        for n in range(8):
            await hosted.session.prompt(f"question {n}")
        answer = await hosted.session.prompt("one more")

        assert answer is not None
        assert answer.text == "the answer"
        assert len(files(hosted)) == 1
        choices = {each.options.tool_choice for each in hosted.fixture.provider.requests}
        assert choices == {None}


@pytest.mark.parametrize(
    ("choice", "sessions", "compactions"), [(NEW, 2, 0), (HERE, 1, 1), (CANCEL, 1, 0), (None, 1, 0)]
)
async def test_the_command_offers_a_new_or_the_current_session(
    tmp_path: Path, choice: str | None, sessions: int, compactions: int
) -> None:
    steps = (*(says(f"answer {n} " + "w" * 10_000) for n in range(6)), says(DOCUMENT))
    settings = {"compaction": {"keepRecentTokens": 1000}}
    ui = ChoosingUI(choice)
    async with extension_session(
        tmp_path, extension, steps=steps, settings=settings, ui=ui
    ) as hosted:
        for n in range(6):
            await hosted.session.prompt(f"question {n}. {ORDER}")
        first = hosted.session.session_file
        await hosted.session.prompt("/handoff mind the tiles")
        await hosted.session.runs.when_idle.held()

        stored = [e for e in hosted.session.entries.log.entries() if isinstance(e, Compaction)]
        assert (hosted.session.session_file != first) == (sessions == 2)
        assert len(stored) == compactions
        # At once: the document would be lost with a process that ends before the next prompt.
        assert len(files(hosted)) == sessions
        if compactions:
            assert DOCUMENT in stored[0].summary
            assert ORDER in stored[0].summary
        if choice in (NEW, HERE):
            assert "mind the tiles" in asked(hosted, -1)


@pytest.mark.behaviour("secrets-are-hidden-everywhere")
async def test_secrets_are_redacted_from_the_document_and_its_details(tmp_path: Path) -> None:
    key = "sk-" + os.urandom(12).hex() + "abcdefgh"
    steps = (says("noted"), says(f"{DOCUMENT} The key is {key}."))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt(f"Always use the key {key} for the shop.")
        await hosted.session.compact(strategy="handoff")
        await hosted.session.runs.when_idle.held()

        handed = document(hosted)
        assert DOCUMENT in str(handed.content)
        assert key not in str(handed)


async def test_a_second_hand_off_keeps_the_orders_of_the_user(tmp_path: Path) -> None:
    documents = tuple(says(f"# Document {n}\n\n" + "Nothing worth mentioning. " * 4) for n in "12")
    steps = (says("yes"), documents[0], says("and?"), documents[1], says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt(f"Build a house. {ORDER}")
        for text in ("go on", "and on"):
            await hosted.session.compact(strategy="handoff")
            await hosted.session.runs.when_idle.held()
            await hosted.session.prompt(text)

        assert "Document 2" in asked(hosted, -1)
        assert "Document 1" not in asked(hosted, -1)
        assert ORDER in asked(hosted, -1)
