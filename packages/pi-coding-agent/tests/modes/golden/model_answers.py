"""What the models of a recording answered, as bytes of their protocols. Pure.

Every piece knows the place of the first record that came of it, so that a server can hold it back
until everything before has happened again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from pi.base.records import Record
from tests.modes.golden.recording import Got, Json, Step

_STATUS = re.compile(r"(\d{3}): (\{.*)", re.DOTALL)
_SPLIT = "\n\n---\n\n**Turn Context (split turn):**\n\n"
_NEVER_ASKED = "This operation was aborted"
_DONE = b"data: [DONE]\n\n"


class Piece(Record):
    """Bytes that may be sent once the replay is at ``place``."""

    place: int
    data: bytes


class Answer(Record):
    """The answer to one request."""

    pieces: tuple[Piece, ...]
    status: int = 200
    hangs: bool = False
    """Whether nothing comes after the pieces, until the client goes away."""
    summary: bool = False
    """Whether it was asked for beside the conversation, by a compaction."""


class RecordedAnswer(Record):
    """One as it was recorded."""

    place: int
    started: Json
    updates: tuple[tuple[int, Json], ...]
    """What it grew by, with places."""
    end: int
    message: Json


def answers(steps: Sequence[Step]) -> list[Answer]:
    """The answers of a recording, in the order in which they were asked for."""
    return list(_answers(steps))


def _answers(steps: Sequence[Step]) -> Iterator[Answer]:
    index = 0
    while index < len(steps):
        step = steps[index]
        record: Json = step.record if isinstance(step, Got) else {"type": "sent"}
        if record["type"] == "compaction_start":
            yield from _summaries(steps, index)
        elif record["type"] == "message_start" and record["message"]["role"] == "assistant":
            answer = _recorded_answer(steps, index)
            if answer.message.get("errorMessage") != _NEVER_ASKED:
                yield _answer(answer)
            index = answer.end
        index += 1


def _recorded_answer(steps: Sequence[Step], index: int) -> RecordedAnswer:
    start = steps[index]
    assert isinstance(start, Got)
    updates: list[tuple[int, Json]] = []
    for position in range(index + 1, len(steps)):
        step = steps[position]
        if not isinstance(step, Got):
            continue
        match step.record:
            case {"type": "message_update", "assistantMessageEvent": event}:
                updates.append((position, event))
            case {"type": "message_end", "message": message}:
                return RecordedAnswer(
                    place=index,
                    started=start.record["message"],
                    updates=tuple(updates),
                    end=position,
                    message=message,
                )
    end = {"role": "assistant", "stopReason": "aborted", "usage": start.record["message"]["usage"]}
    return RecordedAnswer(
        place=index,
        started=start.record["message"],
        updates=tuple(updates),
        end=len(steps),
        message=start.record["message"] | end,
    )


def _answer(answer: RecordedAnswer) -> Answer:
    failure = _STATUS.fullmatch(answer.message.get("errorMessage", ""))
    if failure:
        body = json.dumps({"error": json.loads(failure[2])}).encode()
        return Answer(pieces=(Piece(place=answer.place, data=body),), status=int(failure[1]))
    pieces = _WIRES[answer.message["api"]](answer)
    return Answer(pieces=tuple(pieces), hangs=answer.message["stopReason"] == "aborted")


# Summaries, which are asked for beside the conversation -------------------------------------------


def _summaries(steps: Sequence[Step], index: int) -> Iterator[Answer]:
    end = steps[index + 1]
    assert isinstance(end, Got)
    result = end.record.get("result")
    if result is None:
        return
    texts = result["summary"].partition("\n\n<read-files>")[0].split(_SPLIT)
    usage = {name: _share(value, len(texts)) for name, value in result["usage"].items()}
    for text in texts:
        message = {
            "content": [{"type": "text", "text": text}],
            "usage": usage,
            "model": "mock-r",
            "rawStopReason": "stop",
            "stopReason": "stop",
        }
        event = {"type": "text_delta", "contentIndex": 0, "delta": text}
        answer = RecordedAnswer(
            place=index + 1,
            started=message,
            updates=((index + 1, event),),
            end=index + 1,
            message=message,
        )
        yield Answer(pieces=tuple(_chat(answer)), summary=True)


def _share(value: object, parts: int) -> object:
    return value // parts if isinstance(value, int) else value


# Protocols ----------------------------------------------------------------------------------------


def _chat(answer: RecordedAnswer) -> Iterator[Piece]:
    head = {
        "id": answer.message.get("responseId", "chatcmpl-0"),
        "object": "chat.completion.chunk",
        "created": 1,
        "model": answer.message["model"],
    }

    def chunk(index: int, delta: Json, finish: str | None = None) -> Piece:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return Piece(place=index, data=_event(head | {"choices": [choice]}))

    yield chunk(answer.place, {"role": "assistant", "content": ""})
    calls: dict[int, int] = {}
    last = answer.end
    begun: int | None = None  # a block begins with its first words
    for position, event in answer.updates:
        index, begun_here, begun = event["contentIndex"], begun, None
        match event:
            case {"type": "text_start" | "thinking_start"}:
                begun = position
            case {"type": "text_delta", "delta": text}:
                yield chunk(begun_here or position, {"content": text})
            case {"type": "thinking_delta", "delta": text}:
                yield chunk(begun_here or position, {"reasoning_content": text})
            case {"type": "toolcall_start", "id": id, "toolName": name}:
                calls[index] = len(calls)
                function = {"name": name, "arguments": ""}
                call = {"index": calls[index], "id": id, "type": "function", "function": function}
                yield chunk(position, {"tool_calls": [call]})
            case {"type": "toolcall_delta", "delta": text} if text:
                call = {"index": calls[index], "function": {"arguments": text}}
                yield chunk(position, {"tool_calls": [call]})
            case _:
                last = min(last, position)
    if finish := answer.message.get("rawStopReason"):
        yield chunk(last, {}, finish)
        usage = {"choices": [], "usage": _chat_usage(answer.message["usage"])}
        yield Piece(place=last, data=_event(head | usage) + _DONE)
    elif answer.message["stopReason"] == "error":
        yield Piece(place=last, data=b"")  # the server closes without a word


def _chat_usage(usage: Json) -> Json:
    prompt = usage["input"] + usage["cacheRead"] + usage["cacheWrite"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage["output"],
        "total_tokens": prompt + usage["output"],
        "prompt_tokens_details": {"cached_tokens": usage["cacheRead"]},
        "completion_tokens_details": {"reasoning_tokens": usage.get("reasoning", 0)},
    }


def _anthropic(answer: RecordedAnswer) -> Iterator[Piece]:
    def named(index: int, data: Json) -> Piece:
        return Piece(place=index, data=_event(data, name=data["type"]))

    begun = answer.started["usage"]
    message = {
        "id": answer.message["responseId"],
        "type": "message",
        "role": "assistant",
        "model": answer.message["model"],
        "content": [],
        "stop_reason": None,
        "usage": {
            "input_tokens": begun["input"],
            "output_tokens": begun["output"],
            "cache_read_input_tokens": begun["cacheRead"],
            "cache_creation_input_tokens": begun["cacheWrite"],
        },
    }
    yield named(answer.place, {"type": "message_start", "message": message})
    for index, event in answer.updates:
        location = {"index": event["contentIndex"]}
        block = answer.message["content"][event["contentIndex"]]
        match event:
            case {"type": "thinking_start"}:
                empty: Json = {"type": "thinking", "thinking": "", "signature": ""}
                yield named(
                    index, {"type": "content_block_start", **location, "content_block": empty}
                )
            case {"type": "text_start"}:
                empty = {"type": "text", "text": ""}
                yield named(
                    index, {"type": "content_block_start", **location, "content_block": empty}
                )
            case {"type": "toolcall_start", "id": id, "toolName": name}:
                empty = {"type": "tool_use", "id": id, "name": name, "input": {}}
                yield named(
                    index, {"type": "content_block_start", **location, "content_block": empty}
                )
            case {"type": kind, "delta": text}:
                field, name = _ANTHROPIC_DELTAS[kind]
                delta = {"type": name, field: text}
                yield named(index, {"type": "content_block_delta", **location, "delta": delta})
            case _:
                if signature := block.get("thinkingSignature"):
                    delta = {"type": "signature_delta", "signature": signature}
                    yield named(index, {"type": "content_block_delta", **location, "delta": delta})
                yield named(index, {"type": "content_block_stop", **location})
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": answer.message["rawStopReason"]},
        "usage": {"output_tokens": answer.message["usage"]["output"]},
    }
    yield named(answer.end, end)
    yield named(answer.end, {"type": "message_stop"})


_ANTHROPIC_DELTAS = {
    "thinking_delta": ("thinking", "thinking_delta"),
    "text_delta": ("text", "text_delta"),
    "toolcall_delta": ("partial_json", "input_json_delta"),
}


def _responses(answer: RecordedAnswer) -> Iterator[Piece]:
    response = {"id": answer.message["responseId"], "status": "in_progress", "output": []}

    def named(index: int, kind: str, **fields: object) -> Piece:
        return Piece(place=index, data=_event({"type": kind, **fields}, name=kind))

    yield named(answer.place, "response.created", response=response)
    items = [_response_item(block) for block in answer.message["content"]]
    for position, event in answer.updates:
        index = event["contentIndex"]
        item = items[index]
        location: Json = {"output_index": index, "item_id": item["id"]}
        match event:
            case {"type": kind, "delta": text}:
                name = _RESPONSES_DELTAS[kind]
                extra = {"summary_index": 0} if kind == "thinking_delta" else {"content_index": 0}
                yield named(position, name, **location, **extra, delta=text)
            case {"type": kind} if kind.endswith("_start"):
                begun = item | {_RESPONSES_GROWS[item["type"]]: _EMPTY[item["type"]]}
                added = "response.output_item.added"
                yield named(position, added, output_index=index, item=begun)
                if kind == "thinking_start":
                    part: Json = {"type": "summary_text", "text": ""}
                    name = "response.reasoning_summary_part.added"
                    yield named(position, name, **location, summary_index=0, part=part)
                if kind == "text_start":
                    part = {"type": "output_text", "text": "", "annotations": []}
                    name = "response.content_part.added"
                    yield named(position, name, **location, content_index=0, part=part)
            case _:
                yield named(position, "response.output_item.done", output_index=index, item=item)
    usage = answer.message["usage"]
    done = response | {
        "status": answer.message["rawStopReason"],
        "output": items,
        "usage": {
            "input_tokens": usage["input"] + usage["cacheRead"],
            "input_tokens_details": {"cached_tokens": usage["cacheRead"]},
            "output_tokens": usage["output"],
            "output_tokens_details": {"reasoning_tokens": usage.get("reasoning", 0)},
            "total_tokens": usage["totalTokens"],
        },
    }
    yield named(answer.end, "response.completed", response=done)


_RESPONSES_DELTAS = {
    "thinking_delta": "response.reasoning_summary_text.delta",
    "text_delta": "response.output_text.delta",
    "toolcall_delta": "response.function_call_arguments.delta",
}
_RESPONSES_GROWS = {"reasoning": "summary", "message": "content", "function_call": "arguments"}
_EMPTY: Json = {"reasoning": [], "message": [], "function_call": ""}


def _response_item(block: Json) -> Json:
    """The finished output item that a block of the message came from."""
    match block:
        case {"type": "thinking", "thinkingSignature": signature}:
            return dict(json.loads(signature))
        case {"type": "text", "text": text, "textSignature": signature}:
            part = {"type": "output_text", "text": text, "annotations": []}
            return {
                "type": "message",
                "id": json.loads(signature)["id"],
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        case {"type": "toolCall", "id": ids, "name": name, "arguments": arguments}:
            call_id, _, id = ids.partition("|")
            return {
                "type": "function_call",
                "id": id,
                "call_id": call_id,
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
    raise AssertionError(f"no item gives {block}")


_WIRES: dict[str, Callable[[RecordedAnswer], Iterator[Piece]]] = {
    "openai-completions": _chat,
    "anthropic-messages": _anthropic,
    "openai-responses": _responses,
}


def _event(data: Json, *, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()
