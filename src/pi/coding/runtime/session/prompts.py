"""From what somebody says to a run of the agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from msgspec import UNSET, UnsetType

from pi.agent.errors import AgentBusy
from pi.agent.policy import Next
from pi.agent.queues import message_text, user_message
from pi.agent.skills import expand_skill
from pi.ai.messages import Image, Json, UserMessage
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.tasks import Notifier
from pi.coding.extension_host.events.session import BeforeRun, Input
from pi.coding.port.results import InputSource, Queues, Streaming
from pi.coding.port.session import Accepted, Fill
from pi.coding.prompt import PromptParts, prompt_sections
from pi.coding.resources.prompts import MissingValues, expand_prompt
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.policies import said_with_pictures
from pi.coding.runtime.session.runs import IdleQueue
from pi.coding.session.context import chosen_model
from pi.coding.session.entries import ModelChange, SessionMessage, ThinkingLevelChange

# Where prompts wait while nothing may be said, as during a compaction.


class PromptGate:
    """Open unless somebody has a reason to keep it closed."""

    def __init__(self) -> None:
        self._reasons = 0
        self._given_up = 0
        """How often those that wait were told not to."""
        self._changed = Notifier()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """For as long as the block lasts, what people say waits."""
        self._reasons += 1
        try:
            yield
        finally:
            self._reasons -= 1
            self._changed.notify()

    async def passed(self) -> None:
        """Until it is open; ``PiError`` if those that wait are given up meanwhile."""
        before = self._given_up
        while self._reasons:
            await self._changed.wait()
            if self._given_up != before:
                raise PiError("The prompt was aborted before its run began.")

    def give_up(self) -> None:
        """Those that wait will not begin."""
        self._given_up += 1
        self._changed.notify()


BUSY = (
    "Agent is already processing."
    " Specify streamingBehavior ('steer' or 'followUp') to queue the message."
)


class CommandRunner(Protocol):
    """Commands and prefixes of extensions, which come before all else that a text may mean."""

    def find(self, text: str) -> str | None:
        """The name of the command that ``text`` calls, if it calls one."""
        ...

    async def run(self, text: str) -> None:
        """Run it to its end; a failure is reported."""
        ...

    async def take(self, text: str) -> bool:
        """Give a text to the extension that takes it; False if none does."""
        ...

    async def settled(self) -> None:
        """Until the runs that extensions have begun are over."""
        ...


class NoModel(PiError):
    """There is nobody to ask."""


class PromptRunner:
    """Prompts, queues and aborts. Texts are expanded the same way wherever they come from."""

    def __init__(
        self,
        core: LiveSession,
        *,
        before_run: Callable[[], None],
        when_idle: IdleQueue,
        commands: CommandRunner,
        find_somebody: Callable[[], Awaitable[None]],
        whole_prompt: str | None = None,
    ) -> None:
        self.gate = PromptGate()
        """Where what people say waits; what extensions say does not."""
        self._core = core
        self._find_somebody = find_somebody
        self._commands = commands
        self._before_run = before_run
        self._when_idle = when_idle
        self._whole_prompt = whole_prompt
        """In place of all sections, when a program that embeds pi brings its own."""

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
        """Say something and wait until the agent is idle again.

        While it works, ``streaming`` says how to queue it; without that it is refused. ``None``
        when no run came of it. Without ``expand`` skills and templates are plain text; ``fill`` is
        asked for what a template lacks. ``check`` gets a text that is no command, skill or
        template, and raises to refuse it. ``meta`` is kept with what is said; no model is told.
        """
        core = self._core
        if source != "extension" and await self._done_by_extension(text):
            await _call(accepted)
            await self._commands.settled()
            return None
        if core.elsewhere is not None:
            await core.elsewhere.prompt(text, images, streaming=streaming)
            await _call(accepted)
            return None
        if source != "extension":  # which may be what a compaction waits for
            await self.gate.passed()
        given = Input(text=text, images=tuple(images), source=source, streaming=streaming)
        if core.agent.is_running and streaming is None:
            raise AgentBusy(BUSY)
        given = await core.bus.query(given)
        if given.handled:
            await _call(accepted)
            return None
        text = await self._filled(given.text, fill) if expand else given.text
        if check is not None and text == given.text:
            check(text)
        message = await self._message(text, given.images, meta)
        if core.agent.is_running:
            await self._enqueue(message, streaming)
            await _call(accepted)
            return None
        return await self._run(message, accepted)

    async def steer(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> None:
        """Have it delivered after the tools of the current turn."""
        await self._queue(text, images, source, "steer")

    async def follow_up(
        self, text: str, images: Sequence[Image] = (), *, source: InputSource = "interactive"
    ) -> None:
        """Have it delivered when the agent would stop."""
        await self._queue(text, images, source, "followUp")

    async def clear_queue(self) -> Queues:
        """Take back what was queued."""
        steering, follow_up = await self._core.agent.clear_queue()
        return Queues(
            steering=tuple(map(message_text, steering)),
            follow_up=tuple(map(message_text, follow_up)),
        )

    def set_queue_modes(self, *, steering: str | None = None, follow_up: str | None = None) -> None:
        """Say for this session how queued messages are delivered, all at once or one by one."""
        wanted = {"steeringMode": steering, "followUpMode": follow_up}
        changes = {name: mode for name, mode in wanted.items() if mode is not None}
        self._core.workspace.settings.override(changes)

    def expanded(self, text: str, values: Mapping[str, str] | None = None) -> str:
        """``/skill:name`` and ``/template`` as what they stand for; any other text as it is.

        ``values`` are for variables of a template that the text gives none.
        """
        resources = self._core.workspace.resources
        skills = [found.skill for found in resources.skills]
        told = expand_skill(text, skills)
        return told if told != text else expand_prompt(text, resources.prompts, values)

    async def _filled(self, text: str, fill: Fill | None) -> str:
        try:
            return self.expanded(text)
        except MissingValues as problem:
            values = None if fill is None else await fill(problem)
            if values is None:
                raise
            return self.expanded(text, values)

    async def _queue(
        self, text: str, images: Sequence[Image], source: InputSource, streaming: Streaming
    ) -> None:
        """Queue what somebody says, as handlers have changed it, unless they took care of it."""
        self._must_not_be_command(text)
        if source != "extension" and await self._commands.take(text):
            return
        if self._core.elsewhere is not None:
            await self._core.elsewhere.prompt(text, images, streaming=streaming)
            return
        said = Input(text=text, images=tuple(images), source=source, streaming=streaming)
        given = await self._core.bus.query(said)
        if not given.handled:
            text = self.expanded(given.text)
            await self._enqueue(await self._message(text, given.images), streaming)

    async def _run(self, message: UserMessage, accepted: Accepted | None) -> Next:
        async with self._when_idle.kept_off():
            await self._check()
            await self.prepare()
            more = await self._instructed(message)
            await _call(accepted)
        return await self._core.agent.prompt((message, *more))

    async def _message(
        self, text: str, images: Sequence[Image], meta: Json | UnsetType = UNSET
    ) -> UserMessage:
        text, pictures = await said_with_pictures(self._core, text, images)
        return user_message(text, pictures, now_ms=self._core.host.clock.now_ms(), meta=meta)

    async def _enqueue(self, message: UserMessage, streaming: Streaming | None) -> None:
        agent = self._core.agent
        await (agent.steer if streaming == "steer" else agent.follow_up)(message)

    async def prepare(self) -> None:
        """Everything that must hold when a run begins: prompt, tools, what the log says of them."""
        self._before_run()
        core = self._core
        core.agent.tools = core.toolbox.active()
        core.agent.system_prompt = self.sections()
        await self.note_choices()

    async def note_choices(self) -> None:
        """Let the log know the model and its level, if it does not yet."""
        core, model = self._core, self._core.agent.model
        if not core.has_model:
            return
        if chosen_model(core.log) is None:
            await core.add(ModelChange(provider=model.provider, model_id=model.id))
        if not _names_level(core):
            await core.add(ThinkingLevelChange(thinking_level=core.agent.thinking_level))

    def sections(self) -> dict[str, str]:
        """The system prompt as it would be now."""
        return self._sections(self.parts())

    def parts(self) -> PromptParts:
        """What the system prompt is made of now."""
        core, resources = self._core, self._core.workspace.resources
        return PromptParts(
            cwd=str(core.workspace.cwd),
            date=core.log.header.timestamp[:10],
            docs=str(core.host.docs) if core.host.docs.is_dir() else "",
            tools=core.toolbox.notes(),
            files=resources.prompt_files,
            context=resources.context.files,
            skills=tuple(found.skill for found in resources.skills),
            extra=core.extensions.sections(),
        )

    def _sections(self, parts: PromptParts) -> dict[str, str]:
        if self._whole_prompt is not None:
            return {"preamble": self._whole_prompt} if self._whole_prompt else {}
        return prompt_sections(parts)

    async def _instructed(self, message: UserMessage) -> tuple[SessionMessage, ...]:
        """Let others change the instructions of a run; gives what they add to what is said."""
        core = self._core
        if not core.bus.has_subscribers(BeforeRun):
            return ()
        pictures = tuple(block for block in message.content if isinstance(block, Image))
        given = BeforeRun(text=message_text(message), images=pictures, parts=self.parts())
        asked = await core.bus.query(given)
        if asked.parts is not given.parts:
            core.agent.system_prompt = self._sections(asked.parts)
        return asked.messages

    async def _done_by_extension(self, text: str) -> bool:
        """Whether it was a command of an extension, or begins as one wants it."""
        if self._commands.find(text):
            await self._commands.run(text)
            return True
        return await self._commands.take(text)

    def _must_not_be_command(self, text: str) -> None:
        if (name := self._commands.find(text)) is not None:
            raise PiError(
                f'Extension command "/{name}" cannot be queued.'
                " Use prompt() or execute the command when not streaming."
            )

    async def _check(self) -> None:
        core = self._core
        if not core.has_model:
            await self._find_somebody()
        if not core.has_model:
            for problem in core.registry.unlisted.values():
                raise NoModel(problem.message, hint=problem.hint)
            hint = " ".join([*core.registry.key_problems(), HOW_TO_LOG_IN])
            raise NoModel("No API key found for the selected model.", hint=hint)
        if not self.may_ask(core.agent.model):
            missing = core.registry.models.missing_credentials(core.agent.model.provider)
            raise NoModel(
                "No API key found for the selected model.",
                hint=f"{missing.explain()} Or choose another model with --model.",
            )

    def may_ask(self, model: Model) -> bool:
        """Whether there are credentials for ``model``."""
        return self._core.registry.has_auth(model.provider)


HOW_TO_LOG_IN = (
    "Set a variable such as ANTHROPIC_API_KEY, log in with /login,"
    " or try --model demo/tour or, after `pi models pull`, --model local."
)


def _names_level(core: LiveSession) -> bool:
    outlines, tree = core.log.tree.outlines, core.log.tree
    return any(outlines[p].type == "thinking_level_change" for p in tree.path(core.log.leaf))


async def _call(accepted: Accepted | None) -> None:
    if accepted is not None and (waiting := accepted()) is not None:
        await waiting
