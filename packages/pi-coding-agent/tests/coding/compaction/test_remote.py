"""Compaction by a server: an endpoint of the user, and the provider's own."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import pytest

from pi.ai.messages import AssistantMessage, Json, Message, Thinking, Usage, UserMessage
from pi.ai.models.model import Model
from pi.ai.request import Call
from pi.ai.wire.openai_responses.compact import decode
from pi.ai.wire.openai_responses.request import encode
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.compaction.remote import RemoteCompaction
from pi.coding.compaction.request import CompactionRequest
from pi.coding.session.context import convert_to_llm
from pi.coding.session.entries import Compaction
from pi.testing import says
from tests.coding.compaction.compaction_fixture import OPTIONS, SMALL, CompactionFixture, always

ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
OPENAI = Model(
    id="gpt-5.2", name="g", api="openai-responses", provider="openai", context_window=10_000
)


def fixture() -> CompactionFixture:
    options = replace(OPTIONS, enabled=False, remote_enabled=True)
    return CompactionFixture(summaries=[always], options=options)


async def history(made: CompactionFixture, count: int = 6) -> None:
    for n in range(count):
        made.stream.add(says(f"answer {n} " + "w" * 2000))
        await made.agent.prompt(f"question {n} " + "x" * 2000)


def stored(made: CompactionFixture) -> Compaction:
    return [e for e in made.log.entries() if isinstance(e, Compaction)][-1]


async def test_the_endpoint_gets_the_prompt_and_its_summary_is_stored() -> None:
    sent: list[Json] = []

    async def post(body: Json) -> bytes:
        sent.append(body)
        return b'{"summary": "from the server", "more": 1}'

    made = fixture()
    made.remote = RemoteCompaction(SMALL, post=post)
    await history(made)
    await made.compactor.compact(CompactionRequest(reason="manual"))

    assert set(sent[0]) == {"systemPrompt", "prompt"}
    assert "question 0" in sent[0]["prompt"]
    assert "from the server" in stored(made).summary
    assert made.summariser.requests == []


@pytest.mark.parametrize("answer", [b"", b"{}", b'{"summary": 7}', b"[]", None])
async def test_a_failed_endpoint_falls_back_to_the_model(answer: bytes | None) -> None:
    async def post(body: Json) -> bytes:
        if answer is None:
            raise PiError("it is not reachable")
        return answer

    made = fixture()
    made.remote = RemoteCompaction(SMALL, post=post)
    await history(made)
    await made.compactor.compact(CompactionRequest(reason="manual"))

    assert "The work went on" in stored(made).summary


@pytest.mark.behaviour("portable-summary-fallback")
async def test_a_compaction_of_the_provider_is_replayed_only_to_its_own_model() -> None:
    requests: list[Sequence[Message]] = []

    async def compact(messages: Sequence[Message]) -> AssistantMessage:
        requests.append(messages)
        block = Thinking(thinking="", thinking_signature=json.dumps(ITEM))
        return AssistantMessage(content=(block,), usage=Usage(input=7))

    made = fixture()
    made.remote = RemoteCompaction(OPENAI, compact=compact)
    await history(made)
    await made.compactor.compact(CompactionRequest(reason="manual"))

    entry = stored(made)
    assert entry.preserve_data == {
        "openaiRemoteCompaction": {
            "provider": "openai",
            "api": "openai-responses",
            "model": "gpt-5.2",
            "replacementHistory": [ITEM],
        }
    }
    assert "The work went on" in entry.summary  # every other model continues with this
    messages = tuple(convert_to_llm(made.conversation.messages()))
    own = encode(Call(model=OPENAI, messages=messages))["input"]
    other = encode(Call(model=replace(OPENAI, id="gpt-4"), messages=messages))["input"]
    assert ITEM in own
    assert "The work went on" in str(own)
    assert ITEM not in other
    assert "The work went on" in str(other)

    await history(made, 4)
    await made.compactor.compact(CompactionRequest(reason="manual"))
    assert "gAAA" in str(requests[1][0])  # the next compaction continues it


async def test_a_failed_compaction_of_the_provider_falls_back_to_the_text_summary() -> None:
    async def compact(messages: Sequence[Message]) -> AssistantMessage:
        return AssistantMessage(stop_reason="error", error_message="404")

    made = fixture()
    made.remote = RemoteCompaction(OPENAI, compact=compact)
    await history(made)
    await made.compactor.compact(CompactionRequest(reason="manual"))

    assert "The work went on" in stored(made).summary
    assert stored(made).preserve_data is msgspec.UNSET


@pytest.mark.full
def test_a_compaction_response_is_decoded_as_in_the_sdk_of_openai() -> None:
    answer = {
        "id": "resp_1",
        "created_at": 1,
        "object": "response.compaction",
        "output": [
            {
                "type": "message",
                "id": "m",
                "role": "user",
                "status": "completed",
                "content": [{"type": "input_text", "text": "hello"}],
            },
            ITEM,
        ],
        "usage": {
            "input_tokens": 5,
            "output_tokens": 2,
            "total_tokens": 7,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }
    items, usage = decode(json.dumps(answer).encode())

    assert items == [ITEM]
    assert usage["total_tokens"] == 7
    types = pytest.importorskip("openai.types.responses")
    theirs = types.ResponseCompactionItem.model_validate(ITEM)
    assert theirs.encrypted_content == items[0]["encrypted_content"]
    assert types.ResponseCompactionItemParam.model_validate(items[0]).type == "compaction"


@pytest.mark.parametrize("body", [b"", b"{}", b'{"output": [{"type": "message"}]}', b"[]"])
def test_an_answer_without_a_compaction_is_an_error(body: bytes) -> None:
    with pytest.raises(PiError):
        decode(body)


def test_an_ordinary_message_is_encoded_unchanged() -> None:
    message = UserMessage(content="hi")
    assert encode(Call(model=OPENAI, messages=(message,)))["input"][-1]["role"] == "user"
