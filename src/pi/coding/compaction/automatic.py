"""The policy that keeps a conversation within its model's window."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from pi.agent.compaction.budget import should_compact
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.policy import Boundary, Next, Policy, StopRun
from pi.ai.errors import ContextOverflow
from pi.ai.failures.overflow import is_silent_overflow
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import PromptCache
from pi.base.records import replace
from pi.coding.compaction.compactor import Compactor
from pi.coding.compaction.measuring import (
    elide_worthless,
    latest_answer,
    measured,
    prune_tool_outputs,
    tokens_in_use,
)
from pi.coding.compaction.options import CompactionOptions
from pi.coding.compaction.request import CompactionRequest, CompactionSession
from pi.coding.session.context import message_of
from pi.coding.session.entries import ContextEdit, CustomMessageEntry

log = logging.getLogger(__name__)


NEARLY_FULL = 0.95
"""Part of the window from which on an answer that was cut off has run out of room."""
UNKNOWN_CACHE_SECONDS = 3600
"""How long a provider that does not say so may keep a conversation in its cache."""
CONTINUE = CustomMessageEntry(
    custom_type="auto-continue",
    content="The conversation was compacted. Go on with what is still to do; if nothing is, stop.",
    display=False,
)


class CompactionPolicy(Policy):
    """Looks before every prompt, after every batch of tools and at the end of every run."""

    def __init__(self, compactor: Compactor, around: CompactionSession) -> None:
        self._compactor = compactor
        self._around = around
        self._recovered = False
        """Whether this prompt's overflow has had its one compaction and retry."""
        self._worthless = False
        """Whether the turn before brought results that their tools called useless."""

    async def at_boundary(self, at: Boundary) -> Next:
        """Compact where it is due, unless somebody has claimed what comes next."""
        options = self._around.options().for_model(self._around.model())
        if at.kind == "prompt":
            self._recovered = False
        if at.next.claimed or not options.automatic or at.outcome == "aborted":
            return at.next
        match at.kind:
            case "prompt":
                return self._looked_after(self._without_stale(at.next, options), options)
            case "turn" if at.results:
                return self._looked_after(self._without_worthless(at, options), options)
            case "settle":
                return self._settled(at, options)
            case _:
                return at.next

    def _settled(self, at: Boundary, options: CompactionOptions) -> Next:
        answer = at.answer
        if answer is None or not self._is_ours(answer):
            return at.next
        if isinstance(at.error, ContextOverflow):
            return self._recover(self._leave_out(at.next), CompactionRequest(reason="overflow"))
        if self._had_no_room(answer):
            return self._recover(
                at.next, self._without_latest(CompactionRequest(reason="overflow"))
            )
        if self._was_cut_off(answer):
            return self._recover(
                at.next, self._without_latest(CompactionRequest(reason="incomplete"))
            )
        self._recovered = False
        return self._looked_after(at.next, options, last=True)

    def _is_ours(self, answer: AssistantMessage) -> bool:
        """Whether the model that answers now gave ``answer``: others have other windows."""
        model = self._around.model()
        return (answer.provider, answer.model) == (model.provider, model.id)

    def _had_no_room(self, answer: AssistantMessage) -> bool:
        """Whether the window was too full to answer; a complete answer is never asked again."""
        return answer.stop_reason == "length" and is_silent_overflow(answer, self._around.model())

    def _was_cut_off(self, answer: AssistantMessage) -> bool:
        """Whether an answer ended because the window was nearly full, not at a limit of its own.

        Below that the answer stays as it is, also for the model: "please continue" needs it.
        """
        model = self._around.model()
        return (
            answer.stop_reason == "length"
            and answer.usage.output < model.max_tokens
            and answer.usage.total_tokens >= NEARLY_FULL * model.context_window > 0
        )

    # What is due ----------------------------------------------------------------------------------

    def _recover(self, wanted: Next, wish: CompactionRequest) -> Next:
        """One compaction and one more request for an answer that did not fit."""
        if self._recovered:
            return wanted
        self._recovered = True
        wish = replace(wish, will_retry=True)
        return replace(wanted, action="again", prepare=partial(self._compact_or_stop, wish))

    def _without_latest(self, wish: CompactionRequest) -> CompactionRequest:
        """A wish that leaves the last answer out when it succeeds; otherwise that stays."""
        return replace(wish, leave_out=latest_answer(self._around.conversation().log) or "")

    def _looked_after(
        self, wanted: Next, options: CompactionOptions, *, last: bool = False
    ) -> Next:
        """Leave out what nobody needs, and compact if that is not enough."""
        conversation = self._around.conversation()
        tokens, window = tokens_in_use(conversation), self._around.model().context_window
        if not should_compact(tokens, window, options):
            return wanted
        pruning = prune_tool_outputs(measured(conversation).items)
        wanted = replace(wanted, entries=(*wanted.entries, *pruning.edits))
        if not should_compact(tokens - pruning.tokens_saved, window, options):
            return wanted
        if last and options.auto_continue:
            again = _first(wanted, partial(self._compact_and_continue, options))
            return replace(again, action="again")
        return _first(wanted, partial(self._compact, CompactionRequest(reason="threshold")))

    def _without_worthless(self, at: Boundary, options: CompactionOptions) -> Next:
        """Leave out results that said nothing, once the model has seen them."""
        seen, self._worthless = self._worthless, any(result.useless for result in at.results)
        if not (seen and options.drop_useless):
            return at.next
        items = measured(self._around.conversation()).items
        answers = (n for n, item in enumerate(items) if item.role == "assistant")
        older = items[: max(answers, default=0)]
        edits = elide_worthless(older, cache_is_cold=False).edits
        return replace(at.next, entries=(*at.next.entries, *edits))

    def _without_stale(self, wanted: Next, options: CompactionOptions) -> Next:
        """After a long rest leave out all results that said nothing: no cache is lost by that."""
        if not (options.drop_useless and self._cache_is_cold()):
            return wanted
        items = measured(self._around.conversation()).items
        edits = elide_worthless(items, cache_is_cold=True).edits
        return replace(wanted, entries=(*wanted.entries, *edits))

    def _cache_is_cold(self) -> bool:
        """Whether the last answer is older than the longest time that its provider caches."""
        log = self._around.conversation().log
        latest = latest_answer(log)
        answer = message_of(log.entry(latest)) if latest else None
        if not isinstance(answer, AssistantMessage) or not answer.timestamp:
            return False
        cache = self._around.model().prompt_cache
        kept = cache.long or cache.short if isinstance(cache, PromptCache) else None
        seconds = kept if isinstance(kept, int) else UNKNOWN_CACHE_SECONDS
        return self._around.clock.now_ms() - answer.timestamp > seconds * 1000

    def _leave_out(self, wanted: Next) -> Next:
        """Have the model no longer see its last answer, which stays in the log."""
        target = latest_answer(self._around.conversation().log)
        if target is None:
            return wanted
        edit = ContextEdit(target_id=target, replacement=None)
        return replace(wanted, entries=(*wanted.entries, edit))

    async def _compact(self, wish: CompactionRequest) -> None:
        try:
            await self._compactor.compact(wish)
        except CompactionFailed as problem:
            log.warning("the compaction came to nothing: %s", problem.message)

    async def _compact_and_continue(self, options: CompactionOptions) -> None:
        """Compact, and have the model go on; only if there is room now, or it would never end."""
        await self._compact_or_stop(CompactionRequest(reason="threshold"))
        tokens, window = (
            tokens_in_use(self._around.conversation()),
            self._around.model().context_window,
        )
        if should_compact(tokens, window, options):
            raise StopRun("The conversation is still above the threshold.")
        await self._around.add(CONTINUE)

    async def _compact_or_stop(self, wish: CompactionRequest) -> None:
        try:
            await self._compactor.compact(wish)
        except CompactionFailed as problem:
            raise StopRun(problem.message) from None


def _first(wanted: Next, work: Callable[[], Awaitable[None]]) -> Next:
    """``wanted``, with ``work`` done before whatever else it prepares."""
    then = wanted.prepare

    async def both() -> None:
        await work()
        if then is not None:
            await then()

    return replace(wanted, prepare=both)


# Compaction while nobody does anything: after a while, if much has gathered.


async def compact_when_idle(
    compactor: Compactor, around: CompactionSession, *, busy: Callable[[], bool]
) -> bool:
    """Wait, and compact if it is wanted and due; whether it was done.

    Its caller starts it when the agent settles and cancels it at the next prompt. ``busy`` says
    whether something in the background still works: then it is put off for another while.
    """
    options = around.options().for_model(around.model())
    if not (options.automatic and options.idle_enabled):
        return False
    await around.clock.sleep(options.idle_timeout_seconds)
    while busy() or compactor.busy:
        await around.clock.sleep(options.idle_timeout_seconds)
    if tokens_in_use(around.conversation()) <= options.idle_threshold_tokens:
        return False
    try:
        await compactor.compact(CompactionRequest(reason="idle"))
    except CompactionFailed as problem:
        log.warning("the idle compaction came to nothing: %s", problem.message)
        return False
    return True
