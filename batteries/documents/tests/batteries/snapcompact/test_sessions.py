"""Snapcompact in real sessions: files, resuming, limits, secrets, requests."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.messages import Image, ToolResultMessage, UserMessage
from pi.ai.providers.faux import FAUX_MODEL, calls, says
from pi.ai.token_estimates import message_tokens
from pi.base.records import replace
from pi.batteries.snapcompact import adapter
from pi.batteries.snapcompact.adapter import extension
from pi.batteries.snapcompact.frames import draw, paginate
from pi.coding.session.context import convert_to_llm
from pi.coding.session.entries import Compaction
from pi.coding.session.opening import open_session
from pi.modes.rpc.commands import COMMANDS
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)
from tests.coding.session import sessions

SNAP: dict[str, Any] = {"compaction": {"strategy": "snapcompact", "keepRecentTokens": 1000}}
GOLDEN = sessions.GOLDEN / "sessions" / "compaction-all-reasons.jsonl"
ORDER = "Always paint doors green."


def long(n: int, size: int = 16_000) -> str:
    return f"part-{n}-" + "w" * size


async def talk(hosted: ExtensionFixture, count: int, *, first: str = "question") -> None:
    hosted.fixture.provider.add(*(says(long(n)) for n in range(count)))
    for n in range(count):
        await hosted.session.prompt(f"{first} {n}. {ORDER if n == 0 else ''}")


def latest(hosted: ExtensionFixture) -> Compaction:
    compactions = [e for e in hosted.session.entries.log.entries() if isinstance(e, Compaction)]
    return compactions[-1]


def images(entry: Compaction) -> list[Image]:
    return [block for block in entry.content or () if isinstance(block, Image)]


def shown_tokens(hosted: ExtensionFixture) -> int:
    return sum(map(message_tokens, convert_to_llm(hosted.session.messages)))


async def test_history_becomes_pictures_without_a_request(tmp_path: Path) -> None:
    async with extension_session(tmp_path, extension, settings=SNAP) as hosted:
        await talk(hosted, 6)
        request_count, before = len(hosted.fixture.provider.requests), shown_tokens(hosted)
        result = await hosted.session.compact()

        entry = latest(hosted)
        assert len(hosted.fixture.provider.requests) == request_count
        assert 1 <= len(images(entry)) <= 5
        assert shown_tokens(hosted) < 0.6 * before
        assert ORDER in entry.summary  # the only text for a model without image input
        assert result.content is not entry.content

        hosted.fixture.provider.add(says("fine"))
        await hosted.session.prompt("next")
        sent = str(hosted.fixture.provider.requests[-1].messages)
        assert "part-0-" not in sent
        assert "image/png" in sent
        assert hosted.failures == []


@pytest.mark.full
async def test_a_second_archive_is_not_larger_and_pictures_do_not_exceed_their_budget(
    tmp_path: Path,
) -> None:
    async with extension_session(tmp_path, extension, settings=SNAP) as hosted:
        sizes = []
        for round in range(3):
            await talk(hosted, 12, first=f"round {round}")
            await hosted.session.compact()
            entry = latest(hosted)
            assert len(images(entry)) <= 5
            assert entry.content
            sizes.append(message_tokens(UserMessage(content=entry.content)))
        first = images(
            next(e for e in hosted.session.entries.log.entries() if isinstance(e, Compaction))
        )

        assert images(latest(hosted))[0] == first[0]  # pinned
        pictures = 5 * (1568 * 1568 // 750)
        assert pictures < sizes[0] <= pictures + 2 * 33_930 // 4 + 4000
        assert max(sizes) == sizes[0]
        threshold = FAUX_MODEL.context_window - 16_384
        assert shown_tokens(hosted) < threshold

        with pytest.raises(CompactionFailed):  # without new messages there is nothing to compact
            await hosted.session.compact()


@pytest.mark.behaviour("no-gain-tries-the-next")
async def test_a_result_that_is_not_smaller_is_refused(tmp_path: Path) -> None:
    settings = {"compaction": {"strategy": "snapcompact", "keepRecentTokens": 10}}
    async with extension_session(tmp_path, extension, settings=settings) as hosted:
        hosted.fixture.provider.add(says("a"), says("b"), says("c"), says("too long " * 40))
        for text in "xyz":
            await hosted.session.prompt(text)
        with pytest.raises(CompactionFailed):
            await hosted.session.compact()

        kinds = {type(e).__name__ for e in hosted.session.entries.log.entries()}
        assert "Compaction" not in kinds


async def test_instructions_and_models_without_images_use_a_text_summary(tmp_path: Path) -> None:
    ui = FakeUI()
    async with extension_session(tmp_path, extension, settings=SNAP, ui=ui) as hosted:
        await talk(hosted, 5)
        hosted.fixture.provider.add(
            says("summary with instructions"), says("summary with instructions")
        )
        await hosted.session.compact("mind the doors", strategy="snapcompact")
        assert "summary with instructions" in latest(hosted).summary
        assert images(latest(hosted)) == []

        await hosted.session.models.use(replace(FAUX_MODEL, input=("text",)), source="set")
        await talk(hosted, 5)
        hosted.fixture.provider.add(*[says("summary for the blind")] * 2)
        await hosted.session.compact()
        assert "summary for the blind" in latest(hosted).summary
        assert any("needs a model that sees pictures" in str(call) for call in ui.seen)


@pytest.mark.behaviour("portable-summary-fallback")
async def test_a_text_summary_after_pictures_covers_the_archived_messages(tmp_path: Path) -> None:
    async with extension_session(tmp_path, extension, settings=SNAP) as hosted:
        await talk(hosted, 5)
        await hosted.session.compact()
        await talk(hosted, 3, first="later")
        hosted.fixture.provider.add(
            says("text summary of everything"), says("text summary of everything")
        )
        await hosted.session.compact(strategy="context-full")

        requests = str([request.messages for request in hosted.fixture.provider.requests[-2:]])
        assert "question 0" in requests
        assert "question 4" in requests
        assert "archived in" not in requests


async def test_the_file_opens_without_the_battery_and_has_every_recorded_field(
    tmp_path: Path,
) -> None:
    async with extension_session(tmp_path, extension, settings=SNAP) as hosted:
        await talk(hosted, 6)
        await hosted.session.compact()
        hosted.fixture.provider.add(says("fine"))
        await hosted.session.prompt("next")
        file = hosted.session.session_file
        assert file is not None
        tokens = shown_tokens(hosted)

    lines = [json.loads(line) for line in file.read_text().splitlines()]
    (entry,) = [line for line in lines if line["type"] == "compaction"]
    # The recorded context of the original takes the summary: it says what the pictures were.
    assert entry["summary"].startswith("The conversation up to this point is archived in")
    assert ORDER in entry["summary"]
    golden = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    recorded = next(line for line in golden if line["type"] == "compaction")
    for name, value in recorded.items():
        if name != "usage":  # optional in the recorded format: no model was asked
            assert type(entry[name]) is type(value), name
    assert {*entry["details"]} - {*recorded["details"]} == {"carryOver"}  # not recorded
    # The recorded rule: the context goes on with the entries from the first kept one on.
    assert [entry["firstKeptEntryId"], entry["parentId"]] == sorted(
        [entry["firstKeptEntryId"], entry["parentId"]],
        key=[line.get("id") for line in lines].index,
    )
    # The recorded format has neither field. What the original does with a field that it does not
    # know is recorded for no entry; an entry of an unknown type is kept.
    assert {*entry} - {*recorded} == {"content", "preserveData"}
    assert "iVBOR" not in file.read_text()  # pictures are stored outside

    async with extension_session(tmp_path, open_log=partial(_reopened, file), settings={}) as again:
        assert abs(shown_tokens(again) - tokens) < 50
        assert len(images(latest(again))) == entry["preserveData"]["snapcompact"]["frames"]
        again.fixture.provider.add(says("still fine"))
        answer = await again.session.prompt("and now?")
        assert answer is not None
        assert answer.text == "still fine"
        assert "image/png" in str(again.fixture.provider.requests[-1].messages)


def _reopened(file: Path, location: Any, **more: Any) -> Any:
    return open_session(file, location)


async def test_rpc_results_carry_no_pictures(tmp_path: Path) -> None:
    async with extension_session(tmp_path, extension, settings=SNAP) as hosted:
        await talk(hosted, 6)
        result = await COMMANDS["compact"](hosted.session, _Request({}))  # type: ignore[arg-type]
        answers = [result]
        for name in ("get_messages", "get_entries", "get_tree"):
            answers.append(await COMMANDS[name](hosted.session, _Request({})))  # type: ignore[arg-type]
        events = list(hosted.fixture.events)

        assert images(latest(hosted))
        assert "iVBOR" not in str(answers)
        assert "iVBOR" not in str(events)


class _Request:
    """A request of a client."""

    def __init__(self, fields: dict[str, str]) -> None:
        self._fields = fields

    def optional_text(self, name: str) -> str | None:
        """A field."""
        return self._fields.get(name)


@pytest.mark.behaviour("secrets-are-hidden-everywhere")
async def test_secrets_are_redacted_from_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-" + os.urandom(16).hex()
    printed: list[str] = []

    def recorded(pieces: Any, shape: Any) -> Any:
        printed_text = paginate(pieces, shape)
        printed.extend(page.text for page in printed_text.pages)
        return printed_text

    monkeypatch.setattr(adapter, "paginate", recorded)
    async with extension_session(tmp_path, extension, settings=SNAP) as hosted:
        hosted.fixture.provider.add(says("noted"), calls("bash", command=f"echo {key}"), says("ok"))
        await hosted.session.prompt(f"Always use the key {key}.")
        await hosted.session.prompt("go")
        await talk(hosted, 5)
        await hosted.session.compact()

        entry = latest(hosted)
        assert "Always use the key" in "".join(printed)
        for text in ("".join(printed), entry.summary, str(entry.content)):
            assert key not in text


async def test_drawing_does_not_block_the_loop(tmp_path: Path, monkeypatch: Any) -> None:
    import threading

    drew: list[bool] = []

    def recorded(page: Any, shape: Any) -> Any:
        drew.append(threading.current_thread() is threading.main_thread())
        return draw(page, shape)

    monkeypatch.setattr(adapter, "draw", recorded)
    async with extension_session(tmp_path, extension, settings=SNAP) as hosted:
        await talk(hosted, 6)
        await hosted.session.compact()

    assert drew
    assert not any(drew)


async def test_long_results_and_the_prompt_become_pictures_on_request(tmp_path: Path) -> None:
    settings = {"snapcompact": {"toolResults": True, "systemPrompt": True}}
    async with extension_session(tmp_path, extension, settings=settings) as hosted:
        (hosted.fixture.cwd / "big.txt").write_text("line of text\n" * 1500)
        (hosted.fixture.cwd / "AGENTS.md").write_text("Paint doors green. " * 600)
        hosted.fixture.provider.add(calls("read", path="big.txt"), says("a"), says("b"))
        await hosted.session.prompt("read it")
        await hosted.session.prompt("again")

        second, third = hosted.fixture.provider.requests[1:]
        (result,) = [m for m in second.messages if isinstance(m, ToolResultMessage)]
        assert any(isinstance(block, Image) for block in result.content)
        assert "line of text" not in str(result)
        assert third.messages[: len(second.messages)] == second.messages  # the cache stays valid
        (stored,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert "line of text" in str(stored)


async def test_off_by_default(tmp_path: Path) -> None:
    async with extension_session(tmp_path, extension) as hosted:
        (hosted.fixture.cwd / "big.txt").write_text("line of text\n" * 1500)
        hosted.fixture.provider.add(calls("read", path="big.txt"), says("a"))
        await hosted.session.prompt("read it")

        assert "image/png" not in str(hosted.fixture.provider.requests[-1].messages)
