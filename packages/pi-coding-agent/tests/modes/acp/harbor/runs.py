"""Scripted runs with everything that gets lost on the way, and the model that answers them."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.http_requests import RequestReader
from pi.base.records import Record

Json = dict[str, Any]
SEPARATORS = "a\u2028b\u2029c\u0085d"
"""Characters that end a line for ``str.splitlines`` only."""
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
MCP_SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    tool = {"name": "weather", "description": "Describes the weather.",
            "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    results = {
        "initialize": {"protocolVersion": params.get("protocolVersion", "2025-06-18"),
                       "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}},
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": "Rain in " + str(params.get(
            "arguments", {}).get("city"))}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results.get(method, {})}),
          flush=True)
"""
EXTENSION = '''
from pi.extension import ExtensionAPI

def extension(pi: ExtensionAPI) -> None:
    @pi.tool
    async def twice(word: str) -> str:
        """Run two commands."""
        for number in (1, 2):
            await pi.call_tool("bash", {"command": f"echo {word} {number}"})
        return "both " + word
'''


class Reply(Record):
    """One answer of the model, or a refused request."""

    text: str = ""
    """Also the message of a refused request."""
    thinking: str = ""
    calls: tuple[tuple[str, str, Json], ...] = ()
    """Id, tool and arguments."""
    prompt: int = 1000
    cached: int = 0
    output: int = 10
    status: int = 200
    ids: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """Token ids of the prompt and the answer, for a server that returns them."""


class Run(Record):
    """A run: its prompt, and the answers to each conversation by the marker of its prompt."""

    name: str
    features: tuple[str, ...]
    instruction: str
    replies: dict[str, tuple[Reply, ...]]
    mcp: bool = False


FEATURES = (
    *("parallel", "failed", "image", "edit", "mcp", "script", "agents"),
    *("compaction", "large", "separators", "thought", "refused", "unknown"),
)


def generated(count: int, seed: int = 51) -> Iterator[Run]:
    """Yield runs; the first ones have one feature each, and the first of all has every one."""
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        if number == 0:
            features: Sequence[str] = FEATURES
        elif number <= len(FEATURES):
            features = [FEATURES[number - 1]]
        else:
            features = chance.sample(FEATURES, chance.randint(2, 5))
        yield _run(f"run{number:03}", tuple(features), chance)


class _Script:
    def __init__(self, chance: random.Random) -> None:
        self.replies: dict[str, list[Reply]] = {"MAIN": []}
        self._chance = chance
        self._calls = 0

    def add(self, *calls: tuple[str, Json], marker: str = "MAIN", **fields: Any) -> None:
        chance = self._chance
        rows = []
        for tool, arguments in calls:
            self._calls += 1
            rows.append((f"call_{self._calls}", tool, arguments))
        numbers = {
            "prompt": chance.randint(500, 5000),
            "cached": chance.choice((0, chance.randint(1, 499))),
            "output": chance.randint(1, 300),
        }
        reply = Reply(calls=tuple(rows), **(numbers | fields))
        self.replies.setdefault(marker, []).append(reply)


def _run(name: str, features: tuple[str, ...], chance: random.Random) -> Run:
    script = _Script(chance)
    for feature in features:
        _add(script, feature, chance)
    script.add(text=f"Done with {len(features)}.")
    return Run(
        name=name,
        features=features,
        instruction=f"MAIN Do {', '.join(features)}.",
        replies={marker: tuple(replies) for marker, replies in script.replies.items()},
        mcp="mcp" in features,
    )


def _add(script: _Script, feature: str, chance: random.Random) -> None:
    word = f"w{chance.randint(0, 999)}"
    match feature:
        case "edit":
            path = f"{word}.txt"
            script.add(("write", {"path": path, "content": "one\ntwo\n"}))
            edits = [{"oldText": "two", "newText": word}]
            script.add(("edit", {"path": path, "edits": edits}))
        case "agents":
            tasks = [{"task": f"SUB{word}a look", "name": f"{word}a"}, {"task": f"SUB{word}b"}]
            script.add(("task", {"tasks": tasks}))
            script.add(("bash", {"command": "pwd"}), marker=f"SUB{word}a", text="I am first.")
            for marker in (f"SUB{word}a", f"SUB{word}b"):
                script.add(("yield", {"data": f"Report of {marker}."}), marker=marker)
        case "compaction":
            script.add(("ls", {}), text="Much.", prompt=31_000)
            script.replies.setdefault("SUMMARY", []).append(Reply(text=f"Summary {word}."))
        case "refused":
            script.add(status=503)
            script.add(("ls", {}), text="Again.")
        case _:
            calls, fields = _single(word, chance)[feature]
            script.add(*calls, **fields)


def _single(word: str, chance: random.Random) -> dict[str, tuple[tuple[Any, ...], Json]]:
    """The features that are one answer: its calls, and its other fields."""

    def bash(command: str) -> tuple[str, Json]:
        return "bash", {"command": command}

    echo = bash(f"echo {word}")
    slow = bash(f"echo {word}; sleep 0.0{chance.randint(1, 9)}; echo end")
    failing = bash(f"echo {word} >&2; exit {chance.randint(1, 9)}")
    missing, text = ("read", {"path": "missing.txt"}), ("read", {"path": "a.txt"})
    return {
        "parallel": ((slow, echo, ("ls", {}), text), {"text": "I look."}),
        "failed": ((failing, missing), {"text": "I try."}),
        "unknown": ((("no_such_tool", {"a": word}), ("read", {"wrong": 1}), echo), {}),
        "image": ((("read", {"path": "dot.png"}), echo), {}),
        "mcp": ((("mcp__weather__weather", {"city": word}),), {"text": "I ask."}),
        "script": ((("twice", {"word": word}), echo), {}),
        "large": ((bash(f"yes {word} | head -c 3000000"),), {}),
        "separators": (
            (bash(f"printf '%s' '{SEPARATORS}{word}'"),),
            {"text": f"I say {SEPARATORS}."},
        ),
        "thought": ((echo,), {"thinking": f"Hm, {word}.", "text": "I think."}),
    }


class ScriptedModels:
    """A server for chat completions that knows conversations by the markers in their prompts."""

    def __init__(self) -> None:
        self.url = ""
        self.unknown: list[str] = []
        """Requests that the script does not have."""
        self._replies: dict[str, list[Reply]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def load(self, run: Run) -> None:
        """Answer the requests of a run from now on."""
        self._replies = {marker: list(replies) for marker, replies in run.replies.items()}

    @property
    def left(self) -> list[str]:
        """The conversations with replies that were not requested."""
        return [marker for marker, replies in self._replies.items() if replies]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            if (request := await RequestReader(reader).next()) is not None:
                writer.write(self._response(json.loads(bytes(request.body))))
                await writer.drain()
        except ConnectionError:
            pass  # the client has hung up
        finally:
            writer.close()

    def _response(self, body: Json) -> bytes:
        marker = self._marker(body)
        replies = self._replies.get(marker)
        if not replies:
            self.unknown.append(f"{marker}: {json.dumps(body['messages'][-1])[:300]}")
            return _response(400, b'{"error": {"message": "not in the script"}}')
        reply = replies.pop(0)
        if reply.status != 200:
            error = {"error": {"message": reply.text or "overloaded"}}
            return _response(reply.status, json.dumps(error).encode())
        if not body.get("stream"):
            return _response(200, json.dumps(_completion(reply)).encode(), kind="application/json")
        return _response(200, b"".join(_events(reply)))

    def _marker(self, body: Json) -> str:
        if not body.get("tools"):
            return "SUMMARY"
        markers = [marker for marker in self._replies if marker.startswith("SUB")]
        users = json.dumps([row for row in body["messages"] if row["role"] == "user"])
        return next((marker for marker in markers if marker in users), "MAIN")


def _response(status: int, body: bytes, kind: str = "text/event-stream") -> bytes:
    kind = kind if status == 200 else "application/json"
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n"
    return head.encode() + body


def _events(reply: Reply) -> Iterator[bytes]:
    if reply.ids[1]:
        yield from _tokens(*reply.ids)
    if reply.thinking:
        yield _event({"delta": {"reasoning_content": reply.thinking}})
    middle = len(reply.text) // 2
    for part in (reply.text[:middle], reply.text[middle:]):
        if part:
            yield _event({"delta": {"content": part}})
    for index, (id, name, arguments) in enumerate(reply.calls):
        text = json.dumps(arguments)
        function: Json = {"name": name, "arguments": text[:7]}
        yield _event({"delta": {"tool_calls": [{"index": index, "id": id, "function": function}]}})
        rest = {"index": index, "function": {"arguments": text[7:]}}
        yield _event({"delta": {"tool_calls": [rest]}})
    yield _event({"delta": {}, "finish_reason": _finish(reply)}, usage=_usage(reply))
    yield b"data: [DONE]\n\n"


def _tokens(prompt: tuple[int, ...], completion: tuple[int, ...]) -> Iterator[bytes]:
    """As vLLM sends them: the prompt with the first chunk, the answer in parts."""
    id = {"id": f"chatcmpl-{len(prompt)}"}
    yield _event({"delta": {"role": "assistant"}}, prompt_token_ids=prompt, **id)
    for token in completion:
        logprobs = {"content": [{"token": "x", "logprob": -token / 1000}]}
        yield _event({"delta": {}, "token_ids": [token], "logprobs": logprobs}, **id)


def _usage(reply: Reply) -> Json:
    return {
        "prompt_tokens": reply.prompt,
        "completion_tokens": reply.output,
        "total_tokens": reply.prompt + reply.output,
        "prompt_tokens_details": {"cached_tokens": reply.cached},
    }


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _completion(reply: Reply) -> Json:
    """The answer to a request that does not ask for a stream."""
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(values)}}
        for id, name, values in reply.calls
    ]
    message: Json = {"role": "assistant", "content": reply.text or None}
    choice = {
        "index": 0,
        "message": message | ({"tool_calls": calls} if calls else {}),
        "finish_reason": _finish(reply),
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "mock-r",
        "choices": [choice],
        "usage": _usage(reply),
    }


def _event(choice: Json, **fields: Any) -> bytes:
    data: Json = {"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": None, **choice}]}
    return b"data: %b\n\n" % json.dumps(data | fields).encode()


@asynccontextmanager
async def scripted_models() -> AsyncIterator[ScriptedModels]:
    """Serve the replies of runs on a port of 127.0.0.1."""
    models = ScriptedModels()
    server = await asyncio.start_server(models.serve, "127.0.0.1", 0)
    models.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield models


class RunHome(Record):
    """The folders of one run."""

    folder: Path

    @property
    def agent_dir(self) -> Path:
        """The configuration of pi."""
        return self.folder / "agent"

    @property
    def project(self) -> Path:
        """Where it works."""
        return self.folder / "project"

    @property
    def logs(self) -> Path:
        """What Harbor keeps."""
        return self.folder / "logs"

    @property
    def sessions(self) -> Path:
        """Where the adapter for pi looks for sessions."""
        return self.logs / "pi" / "sessions"

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables of pi."""
        return {"HOME": str(self.folder), "PI_CODING_AGENT_DIR": str(self.agent_dir)}

    def session(self) -> Path:
        """The session file."""
        (path,) = self.sessions.glob("*.jsonl")
        return path


def prepare(folder: Path, run: Run, server: str) -> RunHome:
    """Make the folders and files of a run."""
    home = RunHome(folder=folder)
    for path in (home.agent_dir / "extensions", home.project, home.sessions):
        path.mkdir(parents=True)
    model = {
        "id": "mock-r",
        "reasoning": True,
        "input": ["text", "image"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25},
        "contextWindow": 32000,
        "maxTokens": 4000,
    }
    provider = {"baseUrl": f"{server}/v1", "api": "openai-completions", "apiKey": "key"}
    models = {"providers": {"mock": provider | {"models": [model]}}}
    settings = {
        "task": {"enabled": True},
        "retry": {"baseDelayMs": 1},
        "compaction": {"keepRecentTokens": 10, "reserveTokens": 4000},
        "mcp": {"enabled": True},
    }
    (home.agent_dir / "models.json").write_text(json.dumps(models))
    (home.agent_dir / "settings.json").write_text(json.dumps(settings))
    (home.agent_dir / "extensions" / "twice.py").write_text(EXTENSION)
    (home.project / "a.txt").write_text("alpha\nbeta\n")
    (home.project / "dot.png").write_bytes(PNG)
    (folder / "mcp_server.py").write_text(MCP_SERVER)
    launcher = folder / "launcher"
    options = f"--session-dir '{home.sessions}' --model mock/mock-r --headless"
    launcher.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m pi acp {options}\n")
    launcher.chmod(0o755)
    return home


def mcp_servers(home: RunHome, run: Run) -> list[Json]:
    """The servers that Harbor gives to the agent."""
    if not run.mcp:
        return []
    arguments = [str(home.folder / "mcp_server.py")]
    return [{"name": "weather", "command": sys.executable, "args": arguments, "env": []}]
