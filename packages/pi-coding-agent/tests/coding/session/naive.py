"""A naive computation of the context of a session on JSON, as the reference of the tests."""

from __future__ import annotations

from datetime import datetime
from typing import Any

Json = dict[str, Any]


def path(entries: list[Json], leaf: str | None) -> list[Json]:
    by_id = {entry["id"]: entry for entry in entries}
    branch: list[Json] = []
    while leaf in by_id:
        branch.insert(0, by_id[leaf])
        leaf = by_id[leaf]["parentId"]
    return branch


def context(entries: list[Json], leaf: str | None) -> Json:
    """Messages, model and thinking level at ``leaf``."""
    branch = path(entries, leaf)
    model: Json | None = None
    level = "off"
    for entry in branch:
        message = entry.get("message", {})
        if entry["type"] == "model_change":
            model = {"provider": entry["provider"], "modelId": entry["modelId"]}
        elif message.get("role") == "assistant":
            model = {"provider": message["provider"], "modelId": message["model"]}
        elif entry["type"] == "thinking_level_change":
            level = entry["thinkingLevel"]
    return {"messages": messages(branch), "model": model, "thinkingLevel": level}


def messages(branch: list[Json]) -> list[Json]:
    edits = {e["targetId"]: e["replacement"] for e in branch if e["type"] == "context_edit"}
    compactions = [entry for entry in branch if entry["type"] == "compaction"]
    if not compactions:
        return shown(branch, edits)
    last = compactions[-1]
    compaction_index = branch.index(last)
    ids = [entry["id"] for entry in branch[:compaction_index]]
    start = (
        ids.index(last["firstKeptEntryId"]) if last["firstKeptEntryId"] in ids else compaction_index
    )
    summary = {
        "role": "compactionSummary",
        "summary": last["summary"],
        "tokensBefore": last["tokensBefore"],
        "timestamp": milliseconds(last),
    }
    kept_messages = [
        m for m in shown(branch[start:compaction_index], edits) if m["role"] != "system"
    ]
    system = [last["systemMessage"]] if "systemMessage" in last else []
    return [*system, summary, *kept_messages, *shown(branch[compaction_index + 1 :], edits)]


def shown(branch: list[Json], edits: dict[str, Json | None]) -> list[Json]:
    messages = []
    for entry in branch:
        message = runtime_form(entry)
        if message is None:
            continue
        if entry["id"] in edits and message["role"] in (
            "user",
            "assistant",
            "toolResult",
            "custom",
        ):
            edit = edits[entry["id"]]
            if edit is None:
                continue
            content = edit["content"]
            if isinstance(content, str) and message["role"] in ("assistant", "toolResult"):
                content = [{"type": "text", "text": content}]
            message = {**message, "content": content}
        messages.append(message)
    return messages


def runtime_form(entry: Json) -> Json | None:
    if entry["type"] == "message":
        message: Json = entry["message"]
        return message
    if entry["type"] == "custom_message":
        fields = ("customType", "content", "display", "details")
        copied = {key: entry[key] for key in fields if key in entry}
        return {"role": "custom", **copied, "timestamp": milliseconds(entry)}
    if entry["type"] == "branch_summary" and entry["summary"]:
        return {
            "role": "branchSummary",
            "summary": entry["summary"],
            "fromId": entry["fromId"],
            "timestamp": milliseconds(entry),
        }
    return None


def milliseconds(entry: Json) -> int:
    return round(datetime.fromisoformat(entry["timestamp"]).timestamp() * 1000)
