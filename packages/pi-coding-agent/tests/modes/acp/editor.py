"""An editor that drives a real ``pi acp``; every message of the agent is checked."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.modes.acp.schema import Json, check
from tests.modes.golden.model_answers import Answer
from tests.modes.rpc.peer import Peer, talking

Handler = Callable[[Json], Any]
EVERYTHING: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"notices": {}, "compaction": {}},
    "elicitation": {"form": {}},
    "auth": {"terminal": True},
}


class Refused(Exception):
    """The editor answers with an error."""


class Editor:
    """The client: sends requests in order and keeps messages that arrive meanwhile."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.project = peer.replay_home.project
        self.handlers: dict[str, Handler] = {}
        """Answers to requests of the agent, by method; a value that is ``None`` is not sent."""
        self.updates: list[Json] = []
        self.requests: list[Json] = []
        self.notifications: list[str] = []
        self.answers: dict[Any, Json] = {}
        self._methods: dict[Any, str] = {}
        self._unread: deque[Json] = deque()

    async def start(self, method: str, **params: Any) -> int:
        """Send a request; returns its id."""
        id = len(self._methods) + 1
        self._methods[id] = method
        await self.peer.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    async def ask(self, method: str, **params: Any) -> Json:
        """The whole answer to a request."""
        return await self.answer(await self.start(method, **params))

    async def result(self, method: str, **params: Any) -> Json:
        """The result of a request that succeeds."""
        answer = await self.ask(method, **params)
        assert "result" in answer, answer
        return dict(answer["result"])

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        await self.peer.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def answer(self, id: int) -> Json:
        """The answer to an earlier request."""
        await self.until(lambda: id in self.answers)
        return self.answers[id]

    async def until(self, done: Callable[[], Any]) -> None:
        """Handle what arrives until something has happened."""
        while not done():
            await self.step()

    async def update(self, kind: str) -> Json:
        """The first update of a kind, now or later."""
        await self.until(lambda: kind in self.kinds())
        return next(update for update in self.updates if update["sessionUpdate"] == kind)

    def kinds(self) -> list[str]:
        """The kinds of all updates."""
        return [update["sessionUpdate"] for update in self.updates]

    def text(self, kind: str = "agent_message_chunk") -> str:
        """The text of all chunks of a kind."""
        chunks = (update for update in self.updates if update["sessionUpdate"] == kind)
        return "".join(chunk["content"]["text"] for chunk in chunks)

    async def step(self) -> None:
        """Handle one message."""
        message = await self.peer.next()
        if message.get("method") == "$/cancel_request":
            self.notifications.append(message["method"])
            return
        check(message, self._methods)
        if message.get("method") == "session/update":
            self.updates.append(message["params"]["update"])
        elif "method" in message:
            self.requests.append(message)
            await self._reply(message)
        else:
            self.answers[message["id"]] = message

    async def _reply(self, message: Json) -> None:
        handler = self.handlers.get(message["method"])
        answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if handler is None:
                raise Refused(f"no {message['method']}")
            result = handler(message["params"])
        except Refused as error:
            answer["error"] = {"code": -32603, "message": str(error)}
        else:
            if result is None:
                return
            answer["result"] = result
        await self.peer.send(answer)

    async def open(self, **capabilities: Any) -> str:
        """Initialise, and open a session in the project."""
        await self.result("initialize", protocolVersion=1, clientCapabilities=capabilities)
        return str((await self.new())["sessionId"])

    async def new(self, **params: Any) -> Json:
        """Open a session in the project."""
        defaults: Json = {"cwd": str(self.project), "mcpServers": []}
        return await self.result("session/new", **(defaults | params))

    async def prompt(self, session: str, text: str) -> Json:
        """Send a prompt; returns the whole answer."""
        return await self.ask("session/prompt", sessionId=session, prompt=text_blocks(text))


def text_blocks(text: str) -> list[Json]:
    """A prompt."""
    return [{"type": "text", "text": text}]


@asynccontextmanager
async def editing(
    folder: Path,
    *answers: Answer,
    arguments: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    model: Sequence[str] = ("--model", "mock/mock-r"),
) -> AsyncIterator[Editor]:
    """An editor and its agent, which is ended with the block."""
    async with talking(
        folder,
        *answers,
        command=(sys.executable, "-m", "pi", "acp"),
        arguments=(*model, *arguments),
        environ=environ,
    ) as peer:
        yield Editor(peer)
