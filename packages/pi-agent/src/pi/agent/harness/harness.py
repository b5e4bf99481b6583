"""``AgentHarness``: an agent with a store, a system prompt, policies and skills."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

import msgspec

from pi.agent.agent import Agent, StreamFn
from pi.agent.compaction.budget import CompactionItem, CompactionSettings, context_tokens
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.conversation import AgentMessage, Convert, Transform, plain_messages
from pi.agent.errors import AgentBusy
from pi.agent.events import Listener
from pi.agent.harness.hooks import ProviderHooks, Rank, RankedPolicies, Remove
from pi.agent.harness.store import (
    ConversationStore,
    StoredCompaction,
    StoredConversation,
    StoredEntry,
    StoredModelChange,
    StoredThinkingLevel,
    changed_choices,
    first_visible,
    visible_messages,
)
from pi.agent.policy import Abort, Aborted, Boundary, Next, Policy
from pi.agent.queues import QueueMode
from pi.agent.skills import Skill, expand_skill, skills_section
from pi.agent.tools.tool import AgentTool
from pi.ai.event_stream import EventStream
from pi.ai.messages import (
    AssistantMessage,
    Context,
    Image,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import StreamOptions
from pi.base.clock import Clock, SystemClock
from pi.base.records import replace

if TYPE_CHECKING:
    from pi.agent.compaction.summarise import Ask, SummaryRequest

log = logging.getLogger(__name__)


class AgentOptions(TypedDict, total=False):
    """``Agent`` options that ``AgentHarness`` passes through."""

    thinking_level: ThinkingLevel
    tools: Iterable[AgentTool]
    convert_to_llm: Convert | None
    transform_context: Transform | None
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    clock: Clock | None


Section: TypeAlias = Callable[[], str | None]
"""Returns the text of a section, or ``None`` to leave it out."""


class SystemPrompt:
    """System prompt of named sections, in the order in which they were first set.

    A section that fails keeps its last text: changing the prompt because of a bug would invalidate
    the provider's cache.
    """

    def __init__(self, sections: Mapping[str, Section | str] | None = None) -> None:
        self._sections: dict[str, Section | str] = dict(sections or {})
        self._last: dict[str, str | None] = {}

    def set(self, name: str, section: Section | str) -> None:
        """Add a section at the end, or replace the one of that name in place."""
        self._sections[name] = section

    def remove(self, name: str) -> None:
        """Remove a section, if it exists."""
        self._sections.pop(name, None)
        self._last.pop(name, None)

    def sections(self) -> dict[str, str]:
        """Return the text of all non-empty sections by name."""
        self._last = {name: self._text(name, section) for name, section in self._sections.items()}
        return {name: text for name, text in self._last.items() if text}

    def render(self) -> str:
        """Return the whole prompt, sections separated by blank lines."""
        return "\n\n".join(self.sections().values())

    def _text(self, name: str, section: Section | str) -> str | None:
        if isinstance(section, str):
            return section
        try:
            return section()
        except Exception:
            log.exception("section %s of the system prompt failed", name)
            return self._last.get(name)


class SystemPromptPolicy(Policy):
    """Sets the prompt when a run starts; it is stable between turns."""

    def __init__(self, agent: Agent, prompt: SystemPrompt) -> None:
        self._agent = agent
        self._prompt = prompt

    async def at_boundary(self, at: Boundary) -> Next:
        """Render the prompt at the start of a run."""
        if at.kind == "prompt":
            self._agent.system_prompt = self._prompt.render()
        return at.next


class AgentHarness:
    """One agent and one open conversation of ``store``. Its owner closes it.

    ``agent`` may be used directly, but set model, thinking level and conversation here, so that
    they are stored. ``system_prompt`` is rendered when a run starts.
    """

    def __init__(
        self,
        stream: StreamFn,
        store: ConversationStore,
        *,
        model: Model,
        conversation_id: str | None = None,
        system_prompt: SystemPrompt | None = None,
        skills: Sequence[Skill] = (),
        compaction: CompactionSettings | None = None,
        options: StreamOptions | None = None,
        **agent: Unpack[AgentOptions],
    ) -> None:
        self.skills = tuple(skills)
        self.system_prompt = system_prompt or SystemPrompt()
        self.system_prompt.set("skills", self._skills_section)
        self.hooks = ProviderHooks()
        self.agent = Agent(self._ask, model=model, options=options, **agent)
        self._stream = stream
        self._store = store
        self._options = options or StreamOptions()
        self._convert = agent.get("convert_to_llm") or plain_messages
        self._clock = agent.get("clock") or SystemClock()
        self._settings = compaction or CompactionSettings()
        self._compacting: Abort | None = None
        self._policies = RankedPolicies(self.agent)
        self.add_policy(SystemPromptPolicy(self.agent, self.system_prompt), at="first")
        self._use(self._opened(conversation_id))

    # Prompting -----------------------------------------------------------------------------------

    async def prompt(
        self, message: str | AgentMessage | Sequence[AgentMessage], images: Sequence[Image] = ()
    ) -> Next:
        """Start a run and wait for its end. Expands text that begins with ``/skill:name``."""
        self._refuse_if_busy()
        return await self.agent.prompt(self._expanded(message), images)

    async def steer(self, message: str | AgentMessage, images: Sequence[Image] = ()) -> None:
        """Queue ``message`` for delivery after the tools of the current turn."""
        await self.agent.steer(self._expanded(message), images)

    async def follow_up(self, message: str | AgentMessage, images: Sequence[Image] = ()) -> None:
        """Queue ``message`` for delivery when the agent would stop."""
        await self.agent.follow_up(self._expanded(message), images)

    def abort(self) -> None:
        """Abort the active run or compaction."""
        self.agent.abort()
        if self._compacting is not None:
            self._compacting.request()

    def subscribe(self, listener: Listener) -> Remove:
        """Subscribe to all events in order; returns an unsubscribe function."""
        return self.agent.subscribe(listener)

    # Policies, model -----------------------------------------------------------------------------

    def add_policy(self, policy: Policy, *, at: Rank = "normal") -> Remove:
        """Add ``policy`` from the next run on; returns a function that removes it."""
        return self._policies.add(policy, at=at)

    def set_model(self, model: Model) -> None:
        """Use ``model`` from the next request on."""
        self.agent.model = model
        self._note_choices()

    def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Use this thinking level from the next request on."""
        self.agent.thinking_level = level
        self._note_choices()

    # The conversation ----------------------------------------------------------------------------

    @property
    def conversation(self) -> StoredConversation:
        """The open conversation."""
        return self._conversation

    async def open_conversation(self, id: str | None = None) -> None:
        """Close the conversation and open an earlier or a new one.

        Its messages are used, its model is not. Raises ``AgentBusy`` during a run or a compaction,
        ``WouldDeadlock`` from inside it.
        """
        self._refuse_if_busy()
        opened = self._opened(id)
        self._conversation.close()
        self._use(opened)
        await self.agent.clear_queue()  # queued messages were meant for the other conversation

    async def compact(self, instructions: str = "") -> StoredCompaction:
        """Compact the conversation; raises ``CompactionFailed`` on failure."""
        self._refuse_if_busy()
        self._compacting = Abort(self._clock)
        work = partial(
            compact_entries,
            self._conversation.entries(),
            self._summarise,
            self._settings,
            model=self.agent.model,
            convert=self._convert,
            instructions=instructions,
        )
        try:
            compaction = await self._compacting.wait(work)
            compaction = replace(compaction, timestamp=self._clock.now_ms())
            self._conversation.add(compaction)
        except Aborted:
            raise CompactionFailed("aborted", "The compaction was aborted.") from None
        finally:
            self._compacting = None
        return compaction

    async def close(self) -> None:
        """Abort active work and close the conversation."""
        self.abort()
        await self.agent.wait_for_idle()
        self._conversation.close()

    # ---------------------------------------------------------------------------------------------

    def _ask(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        if options.session_id is None:
            options = replace(options, session_id=self._conversation.id)
        return self._stream(model, context, self.hooks.applied(options))

    async def _summarise(self, request: SummaryRequest) -> AssistantMessage:
        options = replace(
            self._options,
            reasoning=self.agent.thinking_level,
            max_tokens=request.max_tokens,
            session_id=f"{self._conversation.id}-{request.purpose}",  # a separate provider cache
        )
        return await self._ask(self.agent.model, request.context, options).result()

    def _opened(self, id: str | None) -> StoredConversation:
        return self._store.create() if id is None else self._store.open(id)

    def _use(self, conversation: StoredConversation) -> None:
        self.agent.reset(conversation)
        self._conversation = conversation
        self._note_choices()

    def _note_choices(self) -> None:
        entries = self._conversation.entries()
        for change in changed_choices(entries, self.agent.model, self.agent.thinking_level):
            self._conversation.add(change)

    def _skills_section(self) -> str | None:
        return skills_section(self.skills) if self.agent.tools else None  # a tool must read them

    def _expanded(self, message: Any) -> Any:
        return expand_skill(message, self.skills) if isinstance(message, str) else message

    def _refuse_if_busy(self) -> None:
        self.agent.require_idle()
        if self._compacting is not None:
            raise AgentBusy(
                "The conversation is being compacted.", hint="Wait for its end, or abort it."
            )


async def compact_entries(
    entries: Sequence[StoredEntry],
    ask: Ask,
    settings: CompactionSettings,
    *,
    model: Model,
    convert: Convert,
    instructions: str = "",
) -> StoredCompaction:
    """Return the compaction entry to store, or raise ``CompactionFailed``."""
    # Deferred: most programs that embed an agent never compact.
    from pi.agent.compaction.compact import compact
    from pi.agent.compaction.prepare import PreviousSummary, prepare
    from pi.agent.compaction.summarise import SummaryInstructions

    start, earlier = first_visible(entries)
    items = [_item(entry, convert) for entry in entries]
    preparation = prepare(
        items[start:],
        settings,
        window=model.context_window,
        tokens_before=_tokens(entries, convert),
        previous=PreviousSummary(summary=earlier.summary, details=earlier.details)
        if earlier
        else None,
        before=items[:start],
        guidance=SummaryInstructions(custom_instructions=instructions),
    )
    result = await compact(preparation, ask, settings, model=model)
    return StoredCompaction(
        summary=result.summary,
        first_kept_id=result.first_kept_id,
        tokens_before=result.tokens_before,
        details=msgspec.to_builtins(result.details),
        usage=result.usage,
    )


def _item(entry: StoredEntry, convert: Convert) -> CompactionItem:
    match entry.value:
        case StoredModelChange() | StoredThinkingLevel() | StoredCompaction():
            return CompactionItem(id=entry.id, role="metadata")
        case SystemMessage() | UserMessage() | AssistantMessage() | ToolResultMessage() as message:
            return CompactionItem.of(entry.id, message)
        case own:
            converted = convert([own])
            return CompactionItem(
                id=entry.id, role="custom", message=converted[0] if converted else None
            )


def _tokens(entries: Sequence[StoredEntry], convert: Convert) -> int:
    """Estimate the visible tokens. Usage reported before the latest compaction does not count."""
    changed = [
        index for index, entry in enumerate(entries) if isinstance(entry.value, StoredCompaction)
    ]
    since = entries[changed[-1] + 1 :] if changed else entries
    messages = convert(visible_messages(entries))
    return context_tokens(messages, compacted=len(messages) - len(convert(visible_messages(since))))
