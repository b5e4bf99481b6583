"""What a session tells and asks over the bus, as the events of extensions, and back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from pi.base.errors import PiError
from pi.coding.bus import Bus
from pi.coding.extension_host.answers import ResourcesAnswer, as_custom_message
from pi.coding.extension_host.host import ExtensionHost
from pi.coding.extension_host.run_events import (
    BeforeAgentStartEvent,
    InputEvent,
    ModelSelectEvent,
    ThinkingLevelSelectEvent,
)
from pi.coding.extension_host.session_events import (
    ResourcesDiscoverEvent,
    SessionBeforeForkEvent,
    SessionBeforeSwitchEvent,
    SessionForkEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    UserBashEvent,
)
from pi.coding.prompt.sections import prompt_sections
from pi.coding.runtime.core import Core
from pi.coding.runtime.events import (
    BeforeFork,
    BeforeRun,
    BeforeSwitch,
    Input,
    InputAnswer,
    ModelSelected,
    RunAnswer,
    SessionEnding,
    SessionStarted,
    SwitchDecision,
    Switched,
    ThinkingLevelSelected,
    UserBash,
)
from pi.coding.runtime.prompt_options import options_from, with_options
from pi.coding.shell.user_commands import BashResult

OWNER = "extensions"


class ExtensionBridge:
    """Connects the extensions of one session to its bus."""

    def __init__(
        self,
        host: ExtensionHost,
        core: Core,
        *,
        load: Callable[[], Awaitable[None]],
        discovered: Callable[[ResourcesAnswer], None],
    ) -> None:
        self._host = host
        self._hooks = host.hooks
        self._core = core
        self._load = load
        """Loads extensions for the session that is there now."""
        self._discovered = discovered
        """Given the further resources that extensions know of."""

    def connect(self, bus: Bus) -> None:
        """Hear everything from now on."""
        bus.on(SessionStarted, self._started, owner=OWNER)
        bus.on(SessionEnding, self._ending, owner=OWNER)
        bus.on(BeforeSwitch, self._before_switch, owner=OWNER)
        bus.on(BeforeFork, self._before_fork, owner=OWNER)
        bus.on(Switched, self._switched, owner=OWNER)
        bus.on(Input, self._input, owner=OWNER)
        bus.on(BeforeRun, self._before_run, owner=OWNER)
        bus.on(ModelSelected, self._model_selected, owner=OWNER)
        bus.on(ThinkingLevelSelected, self._level_selected, owner=OWNER)
        bus.on(UserBash, self._user_bash, owner=OWNER)

    # Sessions -------------------------------------------------------------------------------------

    async def _started(self, event: SessionStarted) -> None:
        previous = _text(event.previous_session_file)
        await self._hooks.tell(
            SessionStartEvent(reason=event.reason, previous_session_file=previous)
        )
        if self._hooks.heard(ResourcesDiscoverEvent):
            question = ResourcesDiscoverEvent(
                cwd=str(self._core.workspace.cwd),
                reason="reload" if event.reason == "reload" else "startup",
            )
            self._discovered((await self._hooks.ask(question)).found)

    async def _ending(self, event: SessionEnding) -> None:
        target = _text(event.target_session_file)
        await self._hooks.tell(
            SessionShutdownEvent(reason=event.reason, target_session_file=target)
        )
        await self._host.unload()

    async def _before_switch(self, question: BeforeSwitch) -> SwitchDecision:
        asked = SessionBeforeSwitchEvent(
            reason=question.reason, target_session_file=_text(question.target_session_file)
        )
        return SwitchDecision(cancel=(await self._hooks.ask(asked)).cancelled)

    async def _before_fork(self, question: BeforeFork) -> SwitchDecision:
        asked = SessionBeforeForkEvent(entry_id=question.entry_id, position=question.position)
        return SwitchDecision(cancel=(await self._hooks.ask(asked)).cancelled)

    async def _switched(self, event: Switched) -> None:
        await self._load()
        previous = _text(event.previous_session_file)
        await self._hooks.tell(
            SessionSwitchEvent(reason=event.reason, previous_session_file=previous)
        )
        if event.reason == "fork":
            await self._hooks.tell(SessionForkEvent(previous_session_file=previous))

    # Prompts --------------------------------------------------------------------------------------

    async def _input(self, question: Input) -> InputAnswer | None:
        given = InputEvent(
            text=question.text,
            images=question.images,
            source=question.source,
            streaming_behavior=question.streaming,
        )
        asked = await self._hooks.ask(given)
        if asked.handled:
            return InputAnswer(action="handled")
        if asked is given:
            return None
        return InputAnswer(action="transform", text=asked.text, images=asked.images)

    async def _before_run(self, question: BeforeRun) -> RunAnswer:
        waiting = self._host.next_turn.take()
        if not self._hooks.heard(BeforeAgentStartEvent):
            return RunAnswer(parts=question.parts, messages=waiting)
        options = options_from(question.parts)
        asked = await self._hooks.ask(
            BeforeAgentStartEvent(
                prompt=question.text,
                images=question.images,
                system_prompt="\n\n".join(prompt_sections(question.parts).values()),
                system_prompt_options=options,
            )
        )
        forced = asked.replacement
        self._host.policy.forced_prompt = options.force_system_prompt if forced is None else forced
        now_ms = self._core.host.clock.now_ms()
        said = tuple(as_custom_message(message, now_ms=now_ms) for message in asked.messages)
        changed = options != options_from(question.parts)
        parts = with_options(question.parts, options) if changed else question.parts
        return RunAnswer(parts=parts, messages=waiting + said)

    # The rest -------------------------------------------------------------------------------------

    async def _model_selected(self, event: ModelSelected) -> None:
        await self._hooks.tell(
            ModelSelectEvent(model=event.model, previous_model=event.previous, source=event.source)
        )

    async def _level_selected(self, event: ThinkingLevelSelected) -> None:
        await self._hooks.tell(
            ThinkingLevelSelectEvent(level=event.level, previous_level=event.previous)
        )

    async def _user_bash(self, question: UserBash) -> BashResult | None:
        asked = await self._hooks.ask(
            UserBashEvent(
                command=question.command,
                exclude_from_context=question.exclude_from_context,
                cwd=question.cwd,
            )
        )
        if asked.refused:
            raise PiError(asked.refused)
        return asked.result


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
