"""Translates a trajectory back to session files.

A trajectory of pi has its entries and is restored with them. Those of other programs have steps
only, which become the messages of a new session. Nothing is run.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.messages import Json
from pi.base.clock import IdFactory
from pi.base.errors import PiError
from pi.base.json_lines import encode_line
from pi.coding.session.entries import SESSION_VERSION

MOST_PICTURE_BYTES = 50_000_000
"""Maximum size of a picture that is read into a session."""


class BadTrajectory(PiError):
    """A file is no trajectory that can be imported."""


def read_trajectory(path: Path) -> Json:
    """Return the trajectory in a file. Raises ``BadTrajectory``."""
    try:
        document = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise BadTrajectory(f"Cannot read {path}: {error.strerror}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadTrajectory(f"{path} is not JSON: {error}.") from error
    match document:
        case {"schema_version": str(version), "steps": [_, *_]} if version.startswith("ATIF-v1."):
            return dict(document)
        case _:
            raise BadTrajectory(
                f"{path} is not a trajectory.", hint="An ATIF file has schema_version and steps."
            )


def restore_files(document: Json, source: Path, stamps: IdFactory, folder: Path) -> Path:
    """Write the session of a trajectory, and those of its sub-agents, into ``folder``.

    Returns the session file. ``source`` is the file of the trajectory: pictures lie beside it.
    """
    session_file = folder / "session.jsonl"
    session_file.write_bytes(_session(document, source.parent, stamps))
    children = folder / "session"
    for child in _objects(document.get("subagent_trajectories")):
        name = str(child.get("trajectory_id", "")).rpartition("/")[2]
        if name and name == Path(name).name and not name.startswith("."):
            children.mkdir(exist_ok=True)
            content = _session(child, source.parent, stamps)
            (children / f"{name}.jsonl").write_bytes(content)
    return session_file


def _session(document: Json, folder: Path, stamps: IdFactory) -> bytes:
    own = _object(_object(document.get("extra")).get("pi"))
    header = own.get("header")
    if isinstance(header, dict) and header.get("type") == "session":
        entries = [*_objects(own.get("entries"))]
        for step in _objects(document.get("steps")):
            entries += _objects(_object(_object(step.get("extra")).get("pi")).get("entries"))
        rows = [header, *(_with_pictures(entry, folder) for entry in entries)]
    else:
        rows = list(_translated(document, folder, stamps))
    return b"".join(map(encode_line, rows))


def _with_pictures(value: Any, folder: Path) -> Any:
    match value:
        case {"type": "image", "pictureFile": str(path), **others}:
            return {"type": "image", "data": _picture(path, folder), **others}
        case dict():
            return {key: _with_pictures(member, folder) for key, member in value.items()}
        case list():
            return [_with_pictures(member, folder) for member in value]
        case _:
            return value


def _picture(name: str, folder: Path) -> str:
    """Return a picture as base64. Only files below the folder of the trajectory are read."""
    root, path = folder.resolve(), (folder / name).resolve()
    try:
        if not path.is_relative_to(root) or path.stat().st_size > MOST_PICTURE_BYTES:
            raise BadTrajectory(f"The picture {name} does not lie beside the trajectory.")
        return base64.b64encode(path.read_bytes()).decode()
    except OSError as error:
        raise BadTrajectory(f"Cannot read the picture {path}: {error.strerror}.") from error


# Trajectories of other programs -------------------------------------------------------------------


def _translated(document: Json, folder: Path, stamps: IdFactory) -> Iterator[Json]:
    now = stamps.now()
    agent = _object(document.get("agent"))
    yield {
        "type": "session",
        "version": SESSION_VERSION,
        "id": stamps.session_id(),
        "timestamp": now,
        "cwd": "/",
    }
    used: set[str] = set()
    parent: str | None = None
    for step in _objects(document.get("steps")):
        time = step.get("timestamp")
        timestamp = time if isinstance(time, str) else now
        for message in _messages(step, agent, folder, _milliseconds(timestamp)):
            id = stamps.entry_id(used)
            used.add(id)
            yield {
                "type": "message",
                "id": id,
                "parentId": parent,
                "timestamp": timestamp,
                "message": message,
            }
            parent = id


def _messages(step: Json, agent: Json, folder: Path, timestamp: int) -> Iterator[Json]:
    content = _blocks(step.get("message"), folder)
    match step.get("source"):
        case "system":
            texts = [block for block in content if block["type"] == "text"]
            yield {"role": "system", "content": texts, "timestamp": timestamp}
        case "user":
            yield {"role": "user", "content": content, "timestamp": timestamp}
        case _:
            yield from _answer(step, agent, content, timestamp)
            yield from _results(step, folder, timestamp)


def _answer(step: Json, agent: Json, content: Sequence[Json], timestamp: int) -> Iterator[Json]:
    calls = [
        {
            "type": "toolCall",
            "id": str(call.get("tool_call_id")),
            "name": str(call.get("function_name")),
            "arguments": _object(call.get("arguments")),
        }
        for call in _objects(step.get("tool_calls"))
    ]
    thinking = step.get("reasoning_content")
    thoughts = [{"type": "thinking", "thinking": thinking}] if isinstance(thinking, str) else []
    texts = [block for block in content if block["type"] == "text" and block["text"]]
    yield {
        "role": "assistant",
        "content": [*thoughts, *texts, *calls],
        "api": "atif",
        "provider": str(agent.get("name") or "atif"),
        "model": str(step.get("model_name") or agent.get("model_name") or ""),
        "usage": _usage(_object(step.get("metrics"))),
        "stopReason": "toolUse" if calls else "stop",
        "timestamp": timestamp,
    }


def _results(step: Json, folder: Path, timestamp: int) -> Iterator[Json]:
    names = {
        str(call.get("tool_call_id")): str(call.get("function_name"))
        for call in _objects(step.get("tool_calls"))
    }
    for result in _objects(_object(step.get("observation")).get("results")):
        id = str(result.get("source_call_id"))
        if id in names:
            yield {
                "role": "toolResult",
                "toolCallId": id,
                "toolName": names[id],
                "content": _blocks(result.get("content"), folder),
                "isError": _object(result.get("extra")).get("is_error") is True,
                "timestamp": timestamp,
            }


def _blocks(content: object, folder: Path) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks: list[Json] = []
    for part in _objects(content):
        match part:
            case {"type": "text", "text": str(text)}:
                blocks.append({"type": "text", "text": text})
            case {"type": "image", "source": {"media_type": str(kind), "path": str(path)}}:
                data = _picture(path, folder)
                blocks.append({"type": "image", "data": data, "mimeType": kind})
            case {"type": str(kind)}:
                blocks.append({"type": "text", "text": f"[{kind}]"})
    return blocks


def _usage(metrics: Json) -> Json:
    prompt, cached = _count(metrics, "prompt_tokens"), _count(metrics, "cached_tokens")
    output = _count(metrics, "completion_tokens")
    cost = metrics.get("cost_usd")
    total = float(cost) if isinstance(cost, int | float) else 0.0
    zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    return {
        "input": max(prompt - cached, 0),
        "output": output,
        "cacheRead": cached,
        "cacheWrite": 0,
        "totalTokens": prompt + output,
        "cost": {**zero, "total": total},
    }


def _count(metrics: Json, name: str) -> int:
    value = metrics.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _milliseconds(timestamp: str) -> int:
    try:
        moment = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    except ValueError:
        return 0
    return int(moment.timestamp() * 1000)


def _object(value: object) -> Json:
    return dict(value) if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Json]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
