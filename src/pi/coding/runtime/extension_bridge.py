"""Translates events of the session and its agent to extension events, and their answers back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from pi.agent.events import AgentStart, MessageUpdate
from pi.base.errors import PiError
from pi.coding.bus import Bus
from pi.coding.extension_host.events.answers import ResourcesAnswer, as_custom_message
from pi.coding.extension_host.events.policy import forced_prompt, options_from, with_options
from pi.coding.extension_host.events.run import (
    BeforeAgentStartEvent,
    InputEvent,
    MessageUpdateEvent,
    ModelSelectEvent,
    ThinkingLevelSelectEvent,
)
from pi.coding.extension_host.events.session import (
    BeforeFork,
    BeforeRun,
    BeforeSwitch,
    CacheWarmingDecisionEvent,
    Input,
    InputAnswer,
    ModelSelected,
    ResourcesDiscoverEvent,
    RunAnswer,
    SessionBeforeForkEvent,
    SessionBeforeSwitchEvent,
    SessionEnding,
    SessionForkEvent,
    SessionInfoChanged,
    SessionInfoChangedEvent,
    SessionShutdownEvent,
    SessionStarted,
    SessionStartEvent,
    SessionSwitchEvent,
    SwitchDecision,
    Switched,
    ThinkingLevelSelected,
    UserBash,
    UserBashEvent,
    WarmCache,
)
from pi.coding.extension_host.host import ExtensionHost
from pi.coding.prompt import PromptParts, prompt_sections
from pi.coding.runtime.live import LiveSession
from pi.coding.shell.local import BashResult

OWNER = "extensions"


class ExtensionBridge:
    """Connects the extensions of one session to its bus and its agent."""

    def __init__(
        self,
        host: ExtensionHost,
        core: LiveSession,
        *,
        load: Callable[[], Awaitable[None]],
        discovered: Callable[[ResourcesAnswer], None],
    ) -> None:
        self._host = host
        self._hooks = host.hooks
        self._core = core
        self._load = load
        """Loads extensions for the current session."""
        self._discovered = discovered
        """Called with the additional resources that extensions provide."""
        self._tokens: Callable[[], None] | None = None

    def connect(self, bus: Bus) -> None:
        """Subscribe to all events of the bus."""
        bus.subscribe(SessionStarted, self.started, owner=OWNER)
        bus.subscribe(SessionEnding, self._ending, owner=OWNER)
        bus.subscribe(BeforeSwitch, self._before_switch, owner=OWNER)
        bus.subscribe(BeforeFork, self._before_fork, owner=OWNER)
        bus.subscribe(Switched, self.switched, owner=OWNER)
        bus.subscribe(Input, self._input, owner=OWNER)
        bus.subscribe(BeforeRun, self._before_run, owner=OWNER)
        bus.subscribe(ModelSelected, self._model_selected, owner=OWNER)
        bus.subscribe(ThinkingLevelSelected, self._level_selected, owner=OWNER)
        bus.subscribe(UserBash, self._user_bash, owner=OWNER)
        bus.subscribe(WarmCache, self._warm_cache, owner=OWNER)
        self._core.agent.subscribe(self._hear, updates=False)
        self._core.agent.finish = self._host.listening.finish

    # Sessions -------------------------------------------------------------------------------------

    async def started(self, event: SessionStarted) -> None:
        """Emit the start event, then collect the resources of extensions."""
        previous = _text(event.previous_session_file)
        await self._hooks.emit(
            SessionStartEvent(reason=event.reason, previous_session_file=previous)
        )
        if self._hooks.has_subscribers(ResourcesDiscoverEvent):
            question = ResourcesDiscoverEvent(
                cwd=str(self._core.workspace.cwd),
                reason="reload" if event.reason == "reload" else "startup",
            )
            self._discovered((await self._hooks.query(question)).found)

    async def _ending(self, event: SessionEnding) -> None:
        target = _text(event.target_session_file)
        await self._hooks.emit(
            SessionShutdownEvent(reason=event.reason, target_session_file=target)
        )
        await self._host.unload()

    async def _before_switch(self, question: BeforeSwitch) -> SwitchDecision:
        asked = SessionBeforeSwitchEvent(
            reason=question.reason, target_session_file=_text(question.target_session_file)
        )
        return SwitchDecision(cancel=(await self._hooks.query(asked)).cancelled)

    async def _before_fork(self, question: BeforeFork) -> SwitchDecision:
        asked = await self._hooks.query(
            SessionBeforeForkEvent(entry_id=question.entry_id, position=question.position)
        )
        return SwitchDecision(
            cancel=asked.cancelled, keep_conversation=asked.skip_conversation_restore
        )

    async def switched(self, event: Switched) -> None:
        """Load the extensions of the new session, then emit the event."""
        await self._load()
        previous = _text(event.previous_session_file)
        await self._hooks.emit(
            SessionSwitchEvent(reason=event.reason, previous_session_file=previous)
        )
        if event.reason == "fork":
            await self._hooks.emit(SessionForkEvent(previous_session_file=previous))

    # Prompts --------------------------------------------------------------------------------------

    async def _input(self, question: Input) -> InputAnswer | None:
        given = InputEvent(
            text=question.text,
            images=question.images,
            source=question.source,
            streaming_behavior=question.streaming,
        )
        asked = await self._hooks.query(given)
        if asked.handled:
            return InputAnswer(action="handled")
        if asked is given:
            return None
        return InputAnswer(action="transform", text=asked.text, images=asked.images)

    async def _before_run(self, question: BeforeRun) -> RunAnswer:
        waiting = self._host.next_turn.take()
        if not self._hooks.has_subscribers(BeforeAgentStartEvent):
            return RunAnswer(parts=question.parts, messages=waiting)
        options = options_from(question.parts)
        asked = await self._hooks.query(
            BeforeAgentStartEvent(
                prompt=question.text,
                images=question.images,
                system_prompt=_prompt(question.parts),
                system_prompt_options=options,
            )
        )
        now_ms = self._core.machine.clock.now_ms()
        said = tuple(as_custom_message(message, now_ms=now_ms) for message in asked.messages)
        changed = options != options_from(question.parts)
        parts = with_options(question.parts, options) if changed else question.parts
        self._host.policy.forced_prompt = forced_prompt(asked, _prompt(parts))
        return RunAnswer(parts=parts, messages=waiting + said)

    # Other events ---------------------------------------------------------------------------------

    async def _model_selected(self, event: ModelSelected) -> None:
        await self._hooks.emit(
            ModelSelectEvent(model=event.model, previous_model=event.previous, source=event.source)
        )

    async def _level_selected(self, event: ThinkingLevelSelected) -> None:
        await self._hooks.emit(
            ThinkingLevelSelectEvent(level=event.level, previous_level=event.previous)
        )

    async def _user_bash(self, question: UserBash) -> BashResult | None:
        asked = await self._hooks.query(
            UserBashEvent(
                command=question.command,
                exclude_from_context=question.exclude_from_context,
                cwd=question.cwd,
            )
        )
        if asked.refused:
            raise PiError(asked.refused)
        if asked.operations is not None:
            return await asked.operations(question.command, question.cwd, question.on_text)
        return asked.result

    # The agent ------------------------------------------------------------------------------------

    async def _hear(self, event: object) -> None:
        if isinstance(event, AgentStart):
            self._follow_tokens(enabled=self._hooks.has_subscribers(MessageUpdateEvent))
        elif isinstance(event, SessionInfoChanged):
            await self._hooks.emit(SessionInfoChangedEvent(name=event.name or None))
        await self._host.listening.handle_event(event)

    def _follow_tokens(self, *, enabled: bool) -> None:
        """Subscribe to the tokens of a run only while an extension wants them."""
        if not enabled and self._tokens is not None:
            self._tokens()
            self._tokens = None
        elif enabled and self._tokens is None:
            self._tokens = self._core.agent.subscribe(self._token)

    def _token(self, event: object) -> None:
        if type(event) is MessageUpdate:
            self._host.listening.handle_token(event)

    async def _warm_cache(self, question: WarmCache) -> Literal["warm", "stop"]:
        asked = await self._hooks.query(
            CacheWarmingDecisionEvent(
                warm_cost=question.warm_cost,
                miss_cost=question.miss_cost,
                continuation_probability=question.continuation_probability,
                action=question.action,
            )
        )
        return asked.action


def _prompt(parts: PromptParts) -> str:
    return "\n\n".join(prompt_sections(parts).values())


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
