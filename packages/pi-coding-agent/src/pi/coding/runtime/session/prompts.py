"""Prompts: expansion, queues, the prompt gate, and starting a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from pi.agent.errors import AgentBusy, PromptRefused
from pi.agent.policy import Next, Request
from pi.agent.queues import message_text, user_message
from pi.agent.skills import expand_skill
from pi.ai.messages import Image, Json, SystemMessage, UserMessage
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.tasks import Notifier, off_loop
from pi.coding.extension_host.events.session import InputEvent
from pi.coding.models.registry import full_name
from pi.coding.port.results import Disposition, InputSource, NoModel, Queues, Streaming
from pi.coding.prompt import PromptParts, prompt_sections
from pi.coding.resources.prompts import (
    MissingValues,
    expand_prompt,
    fill_command,
    find_template,
)
from pi.coding.runtime.extensions.calls import SessionExtensions
from pi.coding.runtime.live import LiveSession, image_limits
from pi.coding.runtime.session.policies import with_fitted_images
from pi.coding.runtime.session.runs import AgentRuns
from pi.coding.runtime.session.shell import CommandOutput, UserShell
from pi.coding.session.context import recorded_choices
from pi.coding.session.entries import ModelChange, SessionMessage, ThinkingLevelChange
from pi.coding.session.tool_selection import recorded_selection, selection_entry
from pi.coding.settings.option_names import OptionNames

if TYPE_CHECKING:
    from pi.coding.port.actions import Accepted, Fill
    from pi.coding.runtime.session.models import ModelSelection


class PromptGate:
    """Holds prompts back, for example during a compaction. Open by default."""

    def __init__(self) -> None:
        self._reasons = 0
        self._aborted = 0
        """How often waiting prompts were aborted."""
        self._changed = Notifier()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Hold prompts back while the block runs."""
        self._reasons += 1
        try:
            yield
        finally:
            self._reasons -= 1
            self._changed.notify()

    async def passed(self) -> None:
        """Wait until the gate is open. Raises ``PiError`` if the waiting prompts are aborted."""
        before = self._aborted
        while self._reasons:
            await self._changed.wait()
            if self._aborted != before:
                raise PiError("The prompt was aborted before its run began.")

    def abort_waiting(self) -> None:
        """Abort waiting prompts."""
        self._aborted += 1
        self._changed.notify()


BUSY = (
    "Agent is already processing. Specify {streaming} ('steer' or 'followUp') to queue the message."
)


class HandedOff:
    """A hand-off: the conversation continues in a new session once the agent is idle."""

    def __init__(self, *, go_on: bool) -> None:
        self.go_on = go_on
        self.run: asyncio.Task[None] | None = None
        """The run in the new session, once it has started."""


class PromptRunner:
    """Sends and queues prompts. Texts from all sources are expanded the same way."""

    def __init__(
        self,
        core: LiveSession,
        *,
        shell: UserShell,
        runs: AgentRuns,
        extensions: SessionExtensions,
        models: Callable[[], ModelSelection],
        command_output: CommandOutput,
        whole_prompt: str | None = None,
        headless: bool = False,
        own_sections: Mapping[str, str] | None = None,
    ) -> None:
        self.gate = PromptGate()
        """Holds back prompts of users, not those of extensions."""
        self.move_gate = PromptGate()
        """Holds back prompts and commands while another session or branch replaces this one."""
        self._core = core
        self._shell = shell
        self._runs = runs
        self._extensions = extensions
        """Commands and input modes of extensions take precedence over skills and templates."""
        self._models = models
        self._command_output = command_output
        self._whole_prompt = whole_prompt
        """Replaces all sections, if an embedding program passes its own prompt."""
        self._headless = headless
        self._own_sections = own_sections or {}
        self.handed_off: HandedOff | None = None
        """The last hand-off."""

    async def prompt(
        self,
        text: str,
        images: Sequence[Image] = (),
        *,
        streaming: Streaming | None = None,
        source: InputSource = "interactive",
        accepted: Accepted | None = None,
        fill: Fill | None = None,
        check: Callable[[str], None] | None = None,
        expand: bool = True,
        meta: Json | UnsetType = UNSET,
    ) -> Next | None:
        """Send a prompt and wait until the agent is idle again.

        During a run ``streaming`` selects the queue; without it the prompt is refused. Returns
        ``None`` if no run was started. Without ``expand`` skills and templates are plain text;
        ``fill`` returns missing values of a template. ``check`` is called with a text that is not a
        command, skill or template, and raises to refuse it. ``meta`` is stored with the message,
        but not sent to the model.
        """
        core = self._core
        core.require_open()
        if source != "extension":
            await self.move_gate.passed()
        if source != "extension" and await self._handled_by_extension(text):
            await _call(accepted, "handled")
            await self._runs.settled()
            return None
        if core.remote is not None:
            if check is not None:  # the host does not expand what guests write
                check(text)
            disposition: Disposition = "queued" if core.remote.busy else "started"
            await core.remote.prompt(text, images, streaming=streaming)
            await _call(accepted, disposition)
            return None
        if source != "extension":  # a compaction that closed the gate may wait for an extension
            await self.gate.passed()
        event = InputEvent(
            text=text, images=tuple(images), source=source, streaming_behavior=streaming
        )
        if core.agent.is_running and streaming is None:
            raise AgentBusy(BUSY.format(streaming=core.names.streaming))
        event = await core.bus.query(event)
        if event.handled:
            await _call(accepted, "handled")
            return None
        text = await self._fill(event.text, fill) if expand else event.text
        if check is not None and text == event.text:
            check(text)
        message = await self._message(text, event.images, meta)
        if core.agent.is_running:
            await self._enqueue(message, streaming)
            await _call(accepted, "queued")
            return None
        async with self._model_of(event.text if expand else ""):
            return await self._run(message, accepted, streaming, is_held=source != "extension")

    @asynccontextmanager
    async def _model_of(self, text: str) -> AsyncIterator[None]:
        """Use the model that a command of Claude Code names during the block."""
        match = find_template(text, self._core.workspace.resources.prompts)
        if match is None or not (name := match[0].model):
            yield
            return
        models = self._models()
        chosen, previous, level = (
            models.registry.resolve(name),
            models.current,
            models.thinking_level,
        )
        if chosen is None or not self.has_credentials(chosen.model):
            self._core.machine.report(
                f"/{match[0].name} names the model {name}, which is not available;"
                " the current model answers."
            )
            yield
            return
        await models.use(chosen.model, thinking=chosen.thinking, source="set")
        try:
            yield
        finally:
            # Not if the user has chosen another model meanwhile.
            if previous is not None and models.current == chosen.model:
                await models.use(previous, thinking=level, source="restore")

    def start(self, text: str, images: Sequence[Image], *, expand: bool, meta: Json) -> None:
        """Start a run of an extension with a user message; ``meta`` is stored with it."""

        async def run() -> None:
            await self.prompt(
                text,
                images,
                source="extension",
                streaming="followUp",
                expand=expand,
                meta=meta or UNSET,
            )

        self._runs.start(run)

    def begin_with(self, message: SessionMessage) -> asyncio.Task[None]:
        """Start a run with a message; returns its task."""

        async def run() -> None:
            await self.prepare()
            try:
                await self._core.agent.prompt((message,))
            except AgentBusy:  # another run started first
                await self._core.agent.follow_up(message)

        return self._runs.start(run)

    async def resume(self) -> None:
        """Deliver messages that were queued while prompts were held back."""
        inbox = self._core.agent.inbox
        if inbox and not self._core.agent.is_running:
            await self.prepare()
            messages = tuple(inbox.drain_steering()) or tuple(inbox.drain_follow_up())
            await self._core.agent.prompt(messages)

    @property
    def pending(self) -> Sequence[SessionMessage]:
        """Queued messages that wait for delivery."""
        inbox = self._core.agent.inbox
        return inbox.steering + inbox.follow_ups

    def next_request(self) -> Request:
        """Return the request that the model would get now; nothing is sent."""
        agent = self._core.agent
        if not agent.is_running:  # a run keeps the prompt and tools that it started with
            agent.tools = self._core.toolbox.active()
            agent.system_prompt = self.sections()
        return agent.next_request()

    async def steer(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> Disposition:
        """Deliver a message after the tools of the current turn; returns what became of it."""
        return await self._queue(text, images, source, "steer")

    async def follow_up(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> Disposition:
        """Deliver a message when the agent would stop; returns what became of it."""
        return await self._queue(text, images, source, "followUp")

    async def clear_queue(self) -> Queues:
        """Remove and return all queued messages."""
        steering, follow_up = await self._core.agent.clear_queue()
        return Queues(
            steering=tuple(map(message_text, steering)),
            follow_up=tuple(map(message_text, follow_up)),
        )

    def expanded(self, text: str, values: Mapping[str, str] | None = None) -> str:
        """Expand ``/skill:name`` and ``/template``; return any other text unchanged.

        ``values`` are for template variables that the text does not set.
        """
        resources = self._core.workspace.resources
        skills = [skill.skill for skill in resources.skills]
        expanded = expand_skill(text, skills)
        return expanded if expanded != text else expand_prompt(text, resources.prompts, values)

    async def _fill(self, text: str, fill: Fill | None) -> str:
        attached = await self._attach_files(text)
        return attached + await self._expand(text, fill)

    async def _attach_files(self, text: str) -> str:
        """Return the files that a command of Claude Code mentions as ``@path``, as blocks.

        A command of the project gets files of the project only, and none that a guard hides.
        """
        match = find_template(text, self._core.workspace.resources.prompts)
        if match is None or match[0].syntax != "claude" or "@" not in match[0].content + text:
            return ""
        from pi.coding.mentions import (  # lazy: few commands have files
            PUNCTUATION,
            attachments,
            find_mentions,
        )

        template, arguments = match
        core, files = self._core, self._core.workspace.local.files
        is_visible = files.visible_to_model()

        def is_allowed(name: str) -> bool:
            if (bare := name.rstrip(PUNCTUATION)) != name and not is_allowed(bare):
                return False  # the mention may mean either of them
            real = Path(files.real(name))
            inside = real.is_relative_to(os.path.realpath(core.workspace.cwd))
            is_own = template.source.scope != "project" or name in find_mentions(arguments)
            return (inside or is_own) and (is_visible is None or is_visible(real))

        def read() -> str:
            names = find_mentions(fill_command(template.content, arguments, "claude"))
            mentions = " ".join(f'@"{name}"' for name in names if is_allowed(name))
            blocks = attachments(
                mentions,
                cwd=core.workspace.cwd,
                home=core.machine.home,
                limits=image_limits(core),
            )
            # Pictures stay mentions: the model can read them.
            return "".join(block.text for block in blocks if not block.images)

        return await asyncio.to_thread(read)

    async def _expand(self, text: str, fill: Fill | None) -> str:
        if (filled := await self._command_output.expanded(text)) is not None:
            return filled
        try:
            return self.expanded(text)
        except MissingValues as error:
            values = None if fill is None else await fill(error)
            if values is None:
                raise
            return self.expanded(text, values)

    async def _queue(
        self, text: str, images: Sequence[Image], source: InputSource, streaming: Streaming
    ) -> Disposition:
        """Queue a message after input handlers, unless one of them handled it."""
        self._core.require_open()
        self._refuse_command(text)
        if source != "extension" and await self._extensions.handle_input(text):
            return "handled"
        if self._core.remote is not None:
            await self._core.remote.prompt(text, images, streaming=streaming)
            return "queued"
        question = InputEvent(
            text=text, images=tuple(images), source=source, streaming_behavior=streaming
        )
        event = await self._core.bus.query(question)
        if event.handled:
            return "handled"
        text = await self._fill(event.text, None)
        await self._enqueue(await self._message(text, event.images), streaming)
        return "queued"

    async def _run(
        self,
        message: UserMessage,
        accepted: Accepted | None,
        streaming: Streaming | None,
        *,
        is_held: bool,
    ) -> Next | None:
        log = self._core.log
        async with self._runs.when_idle.hold():
            await self._check()
            await self.prepare()
            more = await self._ask_extensions(message)
            await _call(accepted, "started")
        if is_held:  # a gate may have been closed during the preparation
            await self.move_gate.passed()
            await self.gate.passed()
        if self._core.log is not log:  # the session was replaced during the preparation
            return await self._run(message, None, streaming, is_held=is_held)
        before = self.handed_off
        try:
            ended = await self._core.agent.prompt((message, *more))
        except AgentBusy:  # another run started during the preparation
            if streaming is None:
                raise
            for queued in (message, *more):
                await self._enqueue(queued, streaming)
            return None
        except PromptRefused:
            if self.handed_off is before:
                raise
        else:
            await self._follow_hand_off(before)
            return ended
        # A compaction before this prompt handed off: the prompt belongs to the new session.
        return await self._run(message, None, streaming, is_held=is_held)

    async def _follow_hand_off(self, before: HandedOff | None) -> None:
        """After a hand-off with ``go_on``, wait until the run in the new session has ended."""
        while (
            (hand_off := self.handed_off) is not None and hand_off is not before and hand_off.go_on
        ):
            before = hand_off
            await self._runs.when_idle.held()
            if hand_off.run is None:  # the session was closed first
                return
            await asyncio.wait({hand_off.run})

    async def _message(
        self, text: str, images: Sequence[Image], meta: Json | UnsetType = UNSET
    ) -> UserMessage:
        text, pictures = await with_fitted_images(self._core, text, images)
        return user_message(text, pictures, now_ms=self._core.machine.clock.now_ms(), meta=meta)

    async def _enqueue(self, message: SessionMessage, streaming: Streaming | None) -> None:
        agent = self._core.agent
        await (agent.steer if streaming == "steer" else agent.follow_up)(message)

    async def prepare(self) -> None:
        """Prepare a run: prompt, tools, and the log entries about them."""
        core = self._core
        core.require_open()
        self._shell.flush()
        core.agent.tools = core.toolbox.active()
        core.agent.system_prompt = self.sections()
        await core.conversation.prepare()
        await self._record_selection()
        await self.record_model_choice()

    async def _record_selection(self) -> None:
        """Store the selected tools while extensions limit them, for the next start."""
        core = self._core
        if (names := core.toolbox.selection()) is None:
            return
        stored = recorded_selection(core.log)
        is_limited = not {tool.name for tool in core.agent.tools} >= set(names)
        if stored != names and (is_limited or stored is not None):
            await core.add(selection_entry(names))

    async def record_model_choice(self) -> None:
        """Write model and thinking level to the log, if they have changed."""
        core, model = self._core, self._core.agent.model
        if not core.has_model:
            return
        has_model, has_level = await off_loop(
            partial(recorded_choices, core.log), len(core.log.tree.outlines)
        )
        if not has_model:
            await core.add(ModelChange(provider=model.provider, model_id=model.id))
        if not has_level:
            await core.add(ThinkingLevelChange(thinking_level=core.agent.thinking_level))

    def system_message(self) -> SystemMessage:
        """Return the system prompt and the tools of the next run."""
        tools = tuple(tool.declaration for tool in self._core.toolbox.active())
        sections: dict[str, str | None] = dict(self.sections())
        return SystemMessage(content="", sections=sections, tools_added=tools)

    def sections(self) -> dict[str, str]:
        """Return the sections of the current system prompt."""
        return self._sections(self.parts())

    def parts(self) -> PromptParts:
        """Return the parts of the current system prompt."""
        core, resources = self._core, self._core.workspace.resources
        return PromptParts(
            cwd=str(core.workspace.cwd),
            date=core.log.header.timestamp[:10],
            headless=self._headless,
            docs=str(core.machine.docs) if core.machine.docs.is_dir() else "",
            tools=core.toolbox.notes(),
            files=resources.prompt_files,
            context=resources.context.files,
            skills=tuple(skill.skill for skill in resources.skills),
            extra={**core.extensions.sections(), **self._own_sections},
        )

    def _sections(self, parts: PromptParts) -> dict[str, str]:
        if self._whole_prompt is not None:
            return {"preamble": self._whole_prompt} if self._whole_prompt else {}
        return prompt_sections(parts)

    async def _ask_extensions(self, message: UserMessage) -> tuple[SessionMessage, ...]:
        """Let extensions change the instructions of a run; returns messages that they add."""
        core, host = self._core, self._core.extensions.host
        if host is None:
            return ()
        waiting = host.next_turn.take()
        changed, added = await host.policy.before_agent_start(
            message, self.parts, now_ms=core.machine.clock.now_ms()
        )
        if changed is not None:
            core.agent.system_prompt = self._sections(changed)
        return waiting + added

    async def _handled_by_extension(self, text: str) -> bool:
        """Whether the text was handled by a command or input mode of an extension."""
        if self._extensions.find(text):
            await self._extensions.run(text)
            return True
        return await self._extensions.handle_input(text)

    def _refuse_command(self, text: str) -> None:
        if (name := self._extensions.find(text)) is not None:
            raise PiError(
                f'Extension command "/{name}" cannot be queued.'
                " Use prompt() or execute the command when not streaming."
            )

    async def _check(self) -> None:
        core = self._core
        if not core.has_model:
            await self._models().select_fallback_model()
        if not core.has_model:
            for error in core.registry.unlisted.values():
                raise NoModel(error.message, hint=error.hint)
            problems = core.registry.key_problems()
            raise NoModel(
                NO_KEY,
                hint=" ".join([NONE_SELECTED, *problems, how_to_log_in(core.names)]),
                on_screen=" ".join([NONE_SELECTED, *problems, HOW_TO_START]),
            )
        model = core.agent.model
        if not self.has_credentials(model):
            missing = core.registry.models.missing_credentials(model.provider)
            name = full_name(model)
            why = missing.explain().replace("run `pi auth login ", "run `/login ")
            raise NoModel(
                NO_KEY,
                hint=f"It is {name}. {missing.explain()}"
                f" Or choose another model with {core.names.model}.",
                on_screen=f"No API key found for {name}. {why} Or choose another with /model.",
            )

    def has_credentials(self, model: Model) -> bool:
        """Whether there are credentials for ``model``."""
        return self._core.registry.has_auth(model.provider)


NO_KEY = "No API key found for the selected model."
NONE_SELECTED = "No model is selected."
HOW_TO_START = "Log in or store a key with /login, or choose a model with /model."


def how_to_log_in(names: OptionNames) -> str:
    """Return what to do without a model, where there is no screen."""
    return (
        "Set a variable such as ANTHROPIC_API_KEY, run `pi auth login`,"
        f" or try {names.demo_model} or, after `pi models pull`, {names.local_model}."
    )


async def _call(accepted: Accepted | None, disposition: Disposition) -> None:
    if accepted is not None and (waiting := accepted(disposition)) is not None:
        await waiting
