"""A session in a process of its own, for programs that want to keep it apart."""

from __future__ import annotations

import logging
import os
import sys
from asyncio import CancelledError, Future
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from pi.agent.events import AgentSettled, AgentStart, MessageEnd, MessageStart
from pi.ai.messages import Image, Json
from pi.ai.models.model import Model
from pi.base.records import replace
from pi.coding.runtime.events import Streaming
from pi.coding.runtime.results import SessionState
from pi.coding.runtime.rpc_process import RpcProcess, rpc_process
from pi.coding.runtime.watching import AgentSessionEvent, EventFeed, events_during
from pi.coding.session.messages import SessionMessage
from pi.coding.session.numbers import SessionStats
from pi.coding.shell.user_commands import BashResult

log = logging.getLogger(__name__)

R = TypeVar("R")

RpcEvent: TypeAlias = AgentSessionEvent | Json
"""What a session tells; a record of a kind that this version does not know stays as it is."""

PI = (sys.executable, "-P", "-m", "pi")
"""``-P``: without it Python imports modules from the working directory, which may be untrusted."""


class RpcClient:
    """One session, driven from here. ``RpcServerDied`` ends every wait when its process dies.

    >>> async with RpcClient.started("--model", "anthropic/opus") as client:
    ...     async for event in client.ask("What is here?"):
    ...         print(event)
    """

    def __init__(self) -> None:
        self._process: RpcProcess
        self._listeners: list[Callable[[RpcEvent], object]] = []
        self._expecting = False
        """Whether something was said that no run has answered yet."""
        self._running = False
        self._waiting: list[Future[None]] = []

    @classmethod
    @asynccontextmanager
    async def started(
        cls,
        *words: str,
        command: Sequence[str] = PI,
        cwd: Path | str = ".",
        env: Mapping[str, str] | None = None,
    ) -> AsyncIterator[RpcClient]:
        """Start ``pi --mode rpc`` with further ``words``; the process ends with the block.

        It gets our own environment unless ``env`` is given. ``RpcServerDied`` if it cannot start.
        """
        client = cls()
        environ = dict(os.environ if env is None else env)
        line = [*command, "--mode", "rpc", *words]
        async with rpc_process(line, cwd=Path(cwd), env=environ, hear=client._hear) as process:
            client._process = process
            await client.state()  # what does not answer now never will
            yield client

    @property
    def errors(self) -> str:
        """The end of what the process has written to standard error."""
        return self._process.errors

    async def request(self, command: str, /, **fields: Any) -> Any:
        """The answer to any command of the protocol, or ``RpcRefused`` with the reason."""
        return await self._process.request(command, **fields)

    async def send(self, record: Json) -> None:
        """Send a record that is not answered, e.g. the answer to an ``extension_ui_request``."""
        await self._process.send(record)

    def subscribe(self, listener: Callable[[RpcEvent], object]) -> Callable[[], None]:
        """Have ``listener`` called with every event, in order; gives what ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    # Saying something -----------------------------------------------------------------------------

    async def prompt(
        self, message: str, images: Sequence[Image] = (), *, streaming: Streaming | None = None
    ) -> None:
        """Say something; returns when it is accepted. ``streaming`` says how to queue it."""
        self._expecting = True  # before it is sent: the run may be over before we hear the answer
        extra = {} if streaming is None else {"streamingBehavior": streaming}
        try:
            await self.request("prompt", message=message, images=images, **extra)
        except BaseException:
            self._expecting = False
            raise

    async def wait_for_idle(self) -> None:
        """Until the run that something was said for has come to its end.

        A command of an extension begins no run by itself: do not wait after one.
        """
        if self._expecting or self._running:
            settled = self._process.promise()
            self._waiting.append(settled)
            await settled

    async def prompt_and_wait(self, message: str, images: Sequence[Image] = ()) -> str | None:
        """Say something, wait for the end of the run; the last answer, if there is one.

        Who is cancelled meanwhile ends the run.
        """
        try:
            await self.prompt(message, images)
            await self.wait_for_idle()
        except CancelledError:
            await self.send({"type": "abort"})
            raise
        return await self.last_answer()

    def ask(self, message: str, images: Sequence[Image] = ()) -> AsyncGenerator[RpcEvent, None]:
        """Say something; every event until the run has come to its end, or nobody reads them."""
        return events_during(
            lambda: self.prompt_and_wait(message, images),
            lambda: EventFeed(self.subscribe),  # type: ignore[arg-type] # hands on what it is given
        )

    async def abort(self) -> None:
        """End whatever is under way, and wait until it has ended."""
        await self.request("abort")

    # Answers as records ---------------------------------------------------------------------------

    async def state(self) -> SessionState:
        """What the session is at this moment."""
        return await self._typed(SessionState, "get_state")

    async def stats(self) -> SessionStats:
        """The session in numbers."""
        return await self._typed(SessionStats, "get_session_stats")

    async def last_answer(self) -> str | None:
        """The words of the last answer."""
        data: Json = await self.request("get_last_assistant_text")
        return data.get("text")

    async def set_model(self, provider: str, model_id: str) -> Model:
        """Have another model answer from now on."""
        return await self._typed(Model, "set_model", provider=provider, modelId=model_id)

    async def bash(self, command: str) -> BashResult:
        """Run a command of the person beside the conversation."""
        return await self._typed(BashResult, "bash", command=command)

    async def _typed(self, kind: type[R], command: str, /, **fields: Any) -> R:
        return msgspec.convert(await self.request(command, **fields), kind)

    # Events ---------------------------------------------------------------------------------------

    def _hear(self, record: Json) -> None:
        event = read_event(record)
        if isinstance(event, AgentStart):
            self._running, self._expecting = True, False
        elif isinstance(event, AgentSettled):
            self._running, self._expecting = False, False
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting.clear()
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener of an RPC client failed")


def read_event(record: Json) -> RpcEvent:
    """The event that a record tells, with its messages."""
    try:
        event: AgentSessionEvent = msgspec.convert(record, AgentSessionEvent)
        if isinstance(event, MessageStart | MessageEnd):
            return replace(event, message=msgspec.convert(event.message, SessionMessage))
        return event
    except (msgspec.ValidationError, RecursionError):  # of a newer version, or of an extension
        return record
