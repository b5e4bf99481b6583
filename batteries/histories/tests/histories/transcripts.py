"""Transcripts of other agents, written for these tests after the public descriptions."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
    )
).decode()
SESSION = "11111111-2222-4333-8444-555555555555"


class ClaudeFile:
    """Writes lines as Claude Code does: each has a uuid and follows the one before."""

    def __init__(self, cwd: str = "/work/app", session: str = SESSION) -> None:
        self.lines: list[dict[str, Any]] = []
        self.cwd = cwd
        self.session = session
        self.last: str | None = None

    def add(self, kind: str, **fields: Any) -> str:
        """Add a line; ``parent`` is another one than the last."""
        number = len(self.lines)
        uuid = f"uuid-{number}"
        line = {
            "parentUuid": fields.pop("parent", self.last),
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "sessionId": self.session,
            "cwd": self.cwd,
            "timestamp": f"2026-03-01T10:00:{number:02d}.000Z",
            "version": "2.1.0",
            **fields,
        }
        self.lines.append(line)
        self.last = uuid
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def answer(self, id: str, *blocks: dict[str, Any], **fields: Any) -> str:
        message = {
            "id": id,
            "role": "assistant",
            "model": "claude-opus-4-6",
            "content": list(blocks),
            "stop_reason": fields.pop("stop_reason", None),
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": 10,
                "cache_creation_input_tokens": 5,
                "output_tokens": 7,
            },
        }
        return self.add("assistant", message=message, **fields)

    def content(self) -> bytes:
        return "".join(json.dumps(line) + "\n" for line in self.lines).encode()

    def write(self, home: Path) -> Path:
        folder = home / ".claude/projects/-work-app"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.session}.jsonl"
        path.write_bytes(self.content())
        return path


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def result(id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def image() -> dict[str, Any]:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
    }


def claude_conversation(cwd: str = "/work/app") -> ClaudeFile:
    """A conversation with everything: thinking, parallel calls, a picture, an error, a title."""
    file = ClaudeFile(cwd)
    file.add("file-history-snapshot", snapshot={})
    file.user([text("What is in this picture?"), image()], parent=None)
    file.answer("m1", {"type": "thinking", "thinking": "Look first.", "signature": "sig=="})
    file.answer("m1", text("I will look."))
    first = file.answer("m1", use("c1", "Bash", command="ls", description="list", timeout=5000))
    second = file.answer("m1", use("c2", "Read", file_path="/work/app/a.py"))
    file.user([result("c1", "a.py\n")], parent=first, toolUseResult={"stdout": "a.py\n"})
    file.user([result("c2", [text("print(1)"), image()], is_error=True)], parent=second)
    file.answer("m2", text("It is a pixel."), stop_reason="end_turn")
    file.add("system", subtype="stop_hook_summary")
    file.user("<command-name>/clear</command-name>", isMeta=True)
    file.user("Thanks")
    file.add("assistant", isSidechain=True, message={"content": "sub"})
    file.add("custom-title", customTitle="A pixel")
    return file


class CodexFile:
    """Writes lines as codex does."""

    def __init__(self, cwd: str = "/work/app") -> None:
        self.lines: list[dict[str, Any]] = []
        meta = {"id": SESSION, "timestamp": "2026-04-01T09:00:00.000Z", "cwd": cwd}
        self.add("session_meta", {**meta, "cli_version": "0.130.0", "model_provider": "openai"})
        self.add("turn_context", {"cwd": cwd, "model": "gpt-5.2-codex", "effort": "high"})

    def add(self, kind: str, payload: dict[str, Any]) -> None:
        time = f"2026-04-01T09:00:{len(self.lines):02d}.000Z"
        self.lines.append({"timestamp": time, "type": kind, "payload": payload})

    def item(self, kind: str, **fields: Any) -> None:
        self.add("response_item", {"type": kind, **fields})

    def message(self, role: str, *blocks: dict[str, Any]) -> None:
        self.item("message", role=role, content=list(blocks))

    def content(self) -> bytes:
        return "".join(json.dumps(line) + "\n" for line in self.lines).encode()

    def write(self, home: Path) -> Path:
        folder = home / ".codex/sessions/2026/04/01"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-2026-04-01T09-00-00-{SESSION}.jsonl"
        path.write_bytes(self.content())
        return path


def codex_conversation(cwd: str = "/work/app") -> CodexFile:
    """A conversation with everything: reasoning, a shell, a patch, a picture, token counts."""
    file = CodexFile(cwd)
    file.message("developer", {"type": "input_text", "text": "sandbox"})
    file.message("user", {"type": "input_text", "text": "<environment_context>x"})
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
    file.message("user", {"type": "input_text", "text": "Fix the test"}, picture)
    file.add("event_msg", {"type": "user_message", "message": "Fix the test"})
    summary = [{"type": "summary_text", "text": "**Look**"}]
    file.item("reasoning", summary=summary, encrypted_content="gAAA")
    shell = json.dumps({"command": ["bash", "-lc", "pytest -q"], "workdir": cwd})
    file.item("function_call", name="shell", arguments=shell, call_id="call_1")
    used = {
        "input_tokens": 100,
        "cached_input_tokens": 60,
        "output_tokens": 9,
        "reasoning_output_tokens": 4,
        "total_tokens": 109,
    }
    file.add("event_msg", {"type": "token_count", "info": {"last_token_usage": used}})
    failed = json.dumps({"output": "1 failed", "metadata": {"exit_code": 1}})
    file.item("function_call_output", call_id="call_1", output=failed)
    file.item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="call_2")
    file.item("custom_tool_call_output", call_id="call_2", output="Success")
    file.message("assistant", {"type": "output_text", "text": "Done."})
    file.add("compacted", {"message": "We fixed the test."})
    file.message("user", {"type": "input_text", "text": "More"})
    return file
