"""Timebox in pi: ``/timebox``, its options, the status line, and the limits on runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from hashlib import sha256

from pi.batteries.timebox.core.budget import Dimension, Reading, Urgency
from pi.batteries.timebox.core.parse import COMPLETIONS, SetBudget, TurnOff, parse
from pi.batteries.timebox.core.persist import (
    Active,
    Effect,
    Notify,
    Off,
    RunOnStop,
    SaveRecord,
    TimeboxRecord,
    budget_from_json,
    budget_to_json,
)
from pi.batteries.timebox.core.timebox import USAGE, Timebox
from pi.extension import (
    AgentSettledEvent,
    AssistantMessage,
    BeforeAgentStartAnswer,
    BeforeAgentStartEvent,
    CommandContext,
    Custom,
    Done,
    Entry,
    ExtensionAPI,
    ExtensionContext,
    Failed,
    MessageEndEvent,
    MessageEntry,
    ModelRequest,
    PiError,
    Policy,
    Registration,
    Request,
    SessionShutdownEvent,
    SessionStartEvent,
    StopRun,
    StreamEvent,
    TurnStartEvent,
    Usage,
    UserMessage,
    replace,
    usage_of,
)

ACTIVE, OFF = "timebox-active", "timebox-off"
"""Custom types of the entries that store records."""


class SessionTotals:
    """Turns, requests, tokens and cost of a session. Counted once, then updated by events."""

    def __init__(self) -> None:
        self._turns = 0
        self._requests = 0
        self._tokens = 0
        self._cost = 0.0

    def recount(self, entries: Iterable[Entry]) -> None:
        """Count again from ``entries``: messages, summaries, and other entries with a cost."""
        self._turns, self._requests, self._tokens, self._cost = 0, 0, 0, 0.0
        for entry in entries:
            if isinstance(entry, MessageEntry):
                self.add_message(entry.message)
            if (usage := usage_of(entry)) is not None:
                self.add_usage(usage)

    def add_message(self, message: object) -> None:
        """Count a message of the user or an answer of the model."""
        if isinstance(message, UserMessage):
            self._turns += 1
        elif isinstance(message, AssistantMessage):
            self._requests += 1

    def add_usage(self, usage: Usage) -> None:
        """Count the tokens and cost of an answer, as ``/session`` does."""
        self._tokens += usage.input + usage.output + usage.cache_read + usage.cache_write
        self._cost += usage.cost.total

    def reading(self, now_ms: int) -> Reading:
        """Return the totals at that time."""
        return {
            "time": now_ms,
            "turns": self._turns,
            "requests": self._requests,
            "tokens": self._tokens,
            "cost": self._cost,
        }


def records(entries: Iterable[Entry]) -> Iterator[TimeboxRecord]:
    """Yield the records among ``entries``; invalid budgets are skipped."""
    for entry in entries:
        if not isinstance(entry, Custom):
            continue
        if entry.custom_type == OFF:
            yield Off(_disabled_at(entry.data))
        elif entry.custom_type == ACTIVE and (budget := budget_from_json(entry.data)) is not None:
            yield Active(budget)


def _disabled_at(data: object) -> int:
    match data:
        case {"disabledAt": int(timestamp)}:
            return timestamp
        case _:
            return 0


ALLOWED_KEY = "on-stop-commands"
MOST = 200


class AllowedCommands:
    """Stores digests of the commands that the user has typed on this machine.

    A budget is stored in its session together with its command, and session files can be shared. A
    command from someone else's session file must not run just because the file was opened.
    """

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    def knows(self, command: str) -> bool:
        """Whether the user has typed this command on this machine."""
        try:
            return _digest(command) in self._stored_digests()
        except PiError as error:
            self._pi.log.warning("cannot read the allowed commands: %s", error)
            return False

    async def remember(self, command: str) -> None:
        """Allow ``command``. If it cannot be stored, it is allowed for this session only."""
        digest = _digest(command)
        try:
            others = [stored for stored in self._stored_digests() if stored != digest]
            await self._pi.store("global").set(ALLOWED_KEY, [*others, digest][-MOST:])
        except PiError as error:
            self._pi.log.warning("cannot store an allowed command: %s", error)

    def _stored_digests(self) -> list[str]:
        stored = self._pi.store("global").get(ALLOWED_KEY)
        return stored if isinstance(stored, list) else []


def _digest(command: str) -> str:
    return sha256(command.encode("utf-8", "replace")).hexdigest()


STATUS_KEY = "timebox"
SECONDS = 1.0


class StatusLine:
    """Shows a text and checks every second whether it has changed.

    The text is set only if it differs, so that nothing is repainted needlessly.
    """

    def __init__(self, pi: ExtensionAPI, text: Callable[[], str | None]) -> None:
        self._pi = pi
        self._text = text
        self._shown: str | None = None
        self._timer: Registration | None = None

    def follow(self, *, running: bool) -> None:
        """Show the current text, and keep it up to date while ``running``."""
        if self._timer is not None:
            self._timer.remove()
            self._timer = None
        if running and self._pi.context.has_ui:
            self._timer = self._pi.scope.every(SECONDS, self.show)
        self.show()

    def show(self) -> None:
        """Show the current text."""
        text = self._text()
        if text != self._shown:
            self._shown = text
            self._pi.context.ui.set_status(STATUS_KEY, text)


NAME = "timebox"
LIMITS = {"max-turns": "requests", "max-cost": "cost"}
"""Options that set one limit, as evaluations need them: the words of ``/timebox`` by option."""
SPENT = 3
"""Exit code of ``-p`` and JSON mode when the budget is spent."""
UNUSABLE = 1
"""Exit code of both when ``--timebox`` is invalid."""
PRICED: frozenset[Dimension] = frozenset({"tokens", "cost"})
"""Limits that only requests use up; they need a meter of all requests."""
IN_A_RUN: frozenset[Dimension] = PRICED | {"time", "requests"}
"""Limits that are checked before each request; turns are checked when a prompt begins."""


def extension(pi: ExtensionAPI) -> None:
    """Register ``/timebox``, ``--timebox``, ``--max-turns`` and ``--max-cost``."""
    box = PiTimebox(pi)
    pi.register_command(
        NAME,
        box.command,
        description="budget time, turns, tokens or money: /timebox 15m turns:5",
        completions=lambda begin: [
            completion for completion in COMPLETIONS if completion.startswith(begin)
        ],
    )
    pi.register_flag(
        NAME,
        type="string",
        description='stop when this is spent, e.g. "15m turns:3 tokens:200k cost:2.50"',
    )
    pi.register_flag("max-turns", type="string", description="stop after this many model requests")
    pi.register_flag(
        "max-cost", type="string", description="stop when this many US dollars are spent"
    )
    pi.on("session_start", box.session_start)
    pi.on("before_agent_start", box.before_agent_start)
    pi.on("turn_start", box.turn_start)
    pi.on("message_end", box.message_end)
    pi.on("agent_settled", box.agent_settled)
    pi.on("session_shutdown", box.session_shutdown)
    pi.add_policy(box, at="first")


class PiTimebox(Policy):
    """Connects the core to a session of pi: passes events in, carries out the effects."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._core = Timebox()
        self._totals = SessionTotals()
        self._commands = AllowedCommands(pi)
        self._status = StatusLine(pi, lambda: self._core.status(self._reading()))
        self._wrap: Registration | None = None
        self._exit_code = SPENT
        self._prompt_urgency: Urgency | None = None
        """The urgency of the warning in the system prompt of this run."""
        self._deferred: Sequence[Effect] = []
        """Effects of the turn start that wait for the prompt: the first notice and all after it."""

    # Commands of the user -------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Run ``/timebox``."""
        if isinstance(parse(arguments), SetBudget):
            # A restored budget starts with the totals of the log, so a new one must use the same
            # base.
            self._totals.recount(ctx.session_manager.get_entries())
        await self._do(self._core.command(arguments, self._reading()))

    async def _apply_flag(self, text: str) -> None:
        """Apply the options of the command line.

        In print and JSON mode an invalid budget refuses all requests, with exit code ``UNUSABLE``.
        """
        parsed = parse(text)
        understood = isinstance(parsed, TurnOff) or (
            isinstance(parsed, SetBudget) and not parsed.ignored
        )
        if understood or self._attended:
            await self._do(self._core.command(text, self._reading()))
        else:
            self._core.refusal = f"The budget of the command line is invalid: {text!r}. {USAGE}"
            self._exit_code = UNUSABLE

    def _flags(self) -> str:
        """Return the budget of the command line, as ``/timebox`` takes it; empty without one."""
        own = self._pi.get_flag(NAME)
        budget, _, command = own.partition(" -- ") if isinstance(own, str) else ("", "", "")
        limits = [
            f"{word}:{self._pi.get_flag(flag)}"
            for flag, word in LIMITS.items()
            if self._pi.get_flag(flag)
        ]
        text = " ".join(filter(None, (budget, *limits)))
        return f"{text} -- {command}" if command else text

    # Events ---------------------------------------------------------------------------------------

    async def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Restore the budget of the session, or set the one of the command line."""
        entries = ctx.session_manager.get_entries()
        self._totals.recount(entries)
        stored, knows = [*records(entries)], self._commands.knows
        restored = self._core.session_started(stored, self._reading(), knows=knows)
        text = self._flags()
        if event.reason == "startup" and text:
            await self._apply_flag(text)
        else:
            await self._do(restored)

    def before_agent_start(
        self, event: BeforeAgentStartEvent, ctx: ExtensionContext
    ) -> BeforeAgentStartAnswer | None:
        """Add the warning to the system prompt once the budget is nearly spent."""
        self._core.prompt_ended(attended=self._attended)
        reading = self._reading()
        self._prompt_urgency = self._core.urgency(reading)
        if (warning := self._core.warning(reading)) is None:
            return None
        prompt = event.system_prompt if event.replacement is None else event.replacement
        return BeforeAgentStartAnswer(system_prompt=f"{prompt}\n\n{warning}")

    async def turn_start(self, event: TurnStartEvent, ctx: ExtensionContext) -> None:
        """Warn or stop at the start of a run.

        Notices wait for the prompt, which is shown after this event: they are about it.
        """
        effects = self._core.turn_started(self._reading())
        is_notice = [isinstance(effect, Notify) for effect in effects]
        first = is_notice.index(True) if any(is_notice) else len(effects)
        self._deferred = effects[first:]
        await self._do(effects[:first])

    def message_end(self, event: MessageEndEvent, ctx: ExtensionContext) -> None:
        """Count user messages and answers."""
        self._totals.add_message(event.message)
        if isinstance(event.message, UserMessage):
            self._status.show()

    def agent_settled(self, event: AgentSettledEvent, ctx: ExtensionContext) -> None:
        """Mark the prompt as ended: the next run is another turn."""
        self._core.prompt_ended(attended=self._attended)

    def session_shutdown(self, event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        """Clear the status line; the records in the session stay."""
        self._core.forget()
        self._status.follow(running=False)

    # Requests -------------------------------------------------------------------------------------

    async def before_request(self, request: Request) -> Request:
        """Stop the run before a request that exceeds the budget."""
        deferred, self._deferred = self._deferred, []
        await self._do(deferred)
        reading = self._reading()
        await self._do(self._core.request_due(reading, IN_A_RUN))
        if self._core.refusal is not None:
            raise StopRun(self._core.refusal, exit_code=self._exit_code)
        warning = self._core.warning(reading)
        if warning is None or self._core.urgency(reading) == self._prompt_urgency:
            return request
        # The budget crossed a threshold in this run, so its system prompt lacks this warning.
        return replace(request, messages=(*request.messages, UserMessage(content=warning)))

    async def _meter_requests(
        self, request: ModelRequest, ask: Callable[[ModelRequest], AsyncIterator[StreamEvent]]
    ) -> AsyncIterator[StreamEvent]:
        """Count every request, and refuse it once the budget is spent.

        Includes requests outside of runs, e.g. summaries and sub-agents.
        """
        await self._do(self._core.request_due(self._reading(), IN_A_RUN))
        if self._core.refusal is not None:
            yield Failed(reason="error", error=self._refusal(request, self._core.refusal))
            return
        async for event in ask(request):
            match event:
                case Done(message=answer) | Failed(error=answer):
                    self._totals.add_usage(answer.usage)
                case _:
                    pass
            yield event

    def _refusal(self, request: ModelRequest, why: str) -> AssistantMessage:
        return AssistantMessage(
            api=request.model.api,
            provider=request.model.provider,
            model=request.model.id,
            stop_reason="error",
            error_message=why,
            timestamp=self._pi.scope.clock.now_ms(),
        )

    def _reading(self) -> Reading:
        return self._totals.reading(self._pi.scope.clock.now_ms())

    @property
    def _attended(self) -> bool:
        return self._pi.context.mode in ("tui", "rpc")

    async def _do(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Notify(text, level):
                    self._pi.context.ui.notify(text, level)
                case SaveRecord(Active(budget)):
                    if budget.on_stop_command is not None:
                        await self._commands.remember(budget.on_stop_command)
                    await self._pi.append_entry(ACTIVE, budget_to_json(budget))
                case SaveRecord(Off(disabled_at)):
                    await self._pi.append_entry(OFF, {"disabledAt": disabled_at})
                case RunOnStop(command):
                    await self._run_on_stop(command)
        if effects:
            self._follow()

    def _follow(self) -> None:
        """Install or remove status line and request meter as the budget requires."""
        budget = self._core.budget
        self._status.follow(running=budget is not None and budget.active)
        metered = budget is not None and not PRICED.isdisjoint(budget.limits)
        if metered and self._wrap is None:
            self._wrap = self._pi.wrap_model(self._meter_requests)
        elif not metered and self._wrap is not None:
            self._wrap.remove()
            self._wrap = None

    async def _run_on_stop(self, command: str) -> None:
        try:
            await self._pi.spawn(["/bin/sh", "-c", command], detached=True)
        except PiError as error:
            self._pi.context.ui.notify(f"{command} could not be run: {error}", "error")
