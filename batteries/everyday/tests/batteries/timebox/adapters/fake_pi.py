"""A fake of the part of pi that the timebox uses; it records all calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from types import SimpleNamespace
from typing import Any, cast

from pi.ai.providers.faux import FAUX_MODEL
from pi.batteries.timebox.adapters.pi import PiTimebox, extension
from pi.batteries.timebox.core.persist import Json
from pi.coding.session.entries import MessageEntry
from pi.extension import (
    AgentSettledEvent,
    AssistantMessage,
    BeforeAgentStartEvent,
    Custom,
    ExtensionAPI,
    MessageEndEvent,
    ModelWrap,
    PiError,
    Registration,
    Request,
    SessionShutdownEvent,
    SessionStartEvent,
    StopRun,
    SystemPromptOptions,
    TurnStartEvent,
    Usage,
    UserMessage,
)

START = 1_700_000_000_000
MINUTE = 60_000


@dataclass
class FakePi:
    """A session with a timebox. Time passes when ``now`` is changed; nothing else moves it."""

    mode: str = "tui"
    flag: str | None = None
    shell_works: bool = True
    store_problem: bool = False
    now: int = START
    entries: list[Any] = field(default_factory=list)
    stored: dict[str, Any] = field(default_factory=dict)
    notified: list[tuple[str, str]] = field(default_factory=list)
    statuses: list[str | None] = field(default_factory=list)
    spawned: list[Sequence[str]] = field(default_factory=list)
    timers: list[Callable[[], Any]] = field(default_factory=list)
    timers_started: int = 0
    wraps: list[ModelWrap] = field(default_factory=list)
    handlers: dict[str, Any] = field(default_factory=dict)
    completions: Any = None

    def __post_init__(self) -> None:
        self.scope = SimpleNamespace(
            clock=SimpleNamespace(now_ms=lambda: self.now), every=self._every
        )
        ui = SimpleNamespace(
            notify=lambda text, level: self.notified.append((level, text)),
            set_status=lambda key, text: self.statuses.append(text),
        )
        self.context = SimpleNamespace(
            mode=self.mode,
            has_ui=self.mode in ("tui", "rpc"),
            ui=ui,
            session_manager=SimpleNamespace(get_entries=lambda: list(self.entries)),
        )
        self.log = logging.getLogger("timebox under test")
        extension(cast("ExtensionAPI", self))

    # What the adapter calls -----------------------------------------------------------------------

    def on(self, event: str, handler: Any) -> None:
        self.handlers[event] = handler

    def register_command(self, name: str, handler: Any, **options: Any) -> None:
        self.handlers[f"/{name}"] = handler
        self.completions = options["completions"]

    def register_flag(self, name: str, **options: Any) -> None:
        self.handlers[f"--{name}"] = options

    def get_flag(self, name: str) -> str | None:
        return self.flag if name == "timebox" else None

    def add_policy(self, policy: PiTimebox, *, at: str) -> None:
        self.policy = policy

    def wrap_model(self, wrap: ModelWrap) -> Registration:
        self.wraps.append(wrap)
        return Registration(lambda: self.wraps.remove(wrap))

    def store(self, scope: str) -> Any:
        assert scope == "global"
        if self.store_problem:
            raise PiError("the disk is full")
        return SimpleNamespace(get=self.stored.get, set=self._store)

    async def _store(self, key: str, value: Any) -> None:
        self.stored[key] = value

    async def append_entry(self, custom_type: str, data: Json) -> None:
        self.entries.append(Custom(custom_type=custom_type, data=data))

    async def spawn(self, argv: Sequence[str], *, detached: bool) -> None:
        assert detached
        if not self.shell_works:
            raise PiError("Cannot start /bin/sh: there is no such program.")
        self.spawned.append(argv)

    def _every(self, seconds: float, tick: Callable[[], Any]) -> Registration:
        assert seconds == 1
        self.timers.append(tick)
        self.timers_started += 1
        return Registration(lambda: self.timers.remove(tick))

    # What a test does -----------------------------------------------------------------------------

    async def fire(self, name: str, event: Any) -> Any:
        """Emit an event; returns the result of the handler."""
        answer = self.handlers[name](event, self.context)
        return await answer if isawaitable(answer) else answer

    async def command(self, arguments: str) -> None:
        """``/timebox`` and its arguments."""
        await self.fire("/timebox", arguments)

    async def start(self, reason: str = "startup") -> None:
        """Open the session, or load it again."""
        await self.fire("session_start", SessionStartEvent(reason=reason))  # type: ignore[arg-type]

    async def leave(self) -> None:
        """Leave the session."""
        await self.fire("session_shutdown", SessionShutdownEvent(reason="quit"))

    async def reload(self) -> FakePi:
        """The same session after a reload."""
        await self.leave()
        again = FakePi(
            mode=self.mode,
            flag=self.flag,
            now=self.now,
            entries=self.entries,
            stored=self.stored,
        )
        await again.start("reload")
        return again

    async def turn(self, index: int = 0) -> None:
        """A turn begins."""
        await self.fire("turn_start", TurnStartEvent(turn_index=index, timestamp=self.now))

    async def prompt_of_run(self) -> str | None:
        """Emit the event before a run; returns the replaced system prompt."""
        options = SystemPromptOptions(cwd="/somewhere")
        event = BeforeAgentStartEvent(
            prompt="go on", images=(), system_prompt="You are pi.", system_prompt_options=options
        )
        answer = await self.fire("before_agent_start", event)
        return None if answer is None else str(answer.system_prompt)

    async def say(self, count: int = 1) -> None:
        """Send ``count`` user messages."""
        for _ in range(count):
            message = UserMessage(content="go on")
            self.entries.append(MessageEntry(message=message))
            await self.fire("message_end", MessageEndEvent(message=message))

    def answered(self, usage: Usage) -> None:
        """Add a response with this usage to the log."""
        self.entries.append(MessageEntry(message=AssistantMessage(usage=usage)))

    async def request(self) -> Request:
        """The next request after the hook of the timebox; raises ``StopRun`` if it is stopped."""
        request = Request(model=FAUX_MODEL, thinking="off", messages=(), tools=())
        return await self.policy.before_request(request)

    async def settle(self) -> None:
        """The agent becomes idle."""
        await self.fire("agent_settled", AgentSettledEvent())

    async def prompt(self) -> str | None:
        """A run of one request; returns the reason if it was stopped."""
        await self.prompt_of_run()
        await self.turn()
        await self.say()
        try:
            await self.request()
        except StopRun as stop:
            return f"{stop.reason} ({stop.exit_code})"
        finally:
            await self.settle()
        return None

    @property
    def recorded(self) -> list[tuple[str, Any]]:
        """The entries of the timebox."""
        return [
            (entry.custom_type, entry.data) for entry in self.entries if isinstance(entry, Custom)
        ]


def stored_entry(**changes: Any) -> tuple[str, dict[str, Any]]:
    """A budget as an entry of the session."""
    return "timebox-active", {
        "timeLimitMs": None,
        "turnLimit": None,
        "startTime": START,
        "startTurn": 0,
        "softNudgeSent": False,
        "active": True,
        "onStopCommand": None,
        **changes,
    }
