"""Automatic compaction: the policy that checks during runs, the idle timer, and ``Compactor``.

``Compactor`` runs one compaction at a time, also those that the user requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING

from msgspec import UNSET, to_builtins

from pi.agent.compaction.budget import CompactionItem, should_compact
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.events import AgentSettled, AgentStart
from pi.agent.policy import Abort, Aborted, Boundary, Next, Policy, StopRun
from pi.ai.errors import ContextOverflow
from pi.ai.failures.overflow import is_silent_overflow
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import PromptCache
from pi.base.records import replace
from pi.base.tasks import off_loop
from pi.coding.compaction.measuring import (
    context_items,
    latest_answer,
    may_have_worthless,
    measure_sizes,
    tokens_in_use,
)
from pi.coding.compaction.options import CompactionOptions
from pi.coding.compaction.pruning import elide_worthless, prune_tool_outputs
from pi.coding.compaction.request import CompactionRequest, CompactionSession
from pi.coding.session.context import context_path, message_of
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import ContextEdit, CustomMessageEntry

if TYPE_CHECKING:
    from pi.coding.compaction.events import CompactionEnd, CompactionReason, CompactionResult

log = logging.getLogger(__name__)


FAILED: dict[CompactionReason, str] = {
    "manual": "Compaction failed",
    "threshold": "Auto-compaction failed",
    "idle": "Auto-compaction failed",
    "overflow": "Context overflow recovery failed",
    "incomplete": "Incomplete response recovery failed",
}


class Compactor:
    """Runs compactions. The owner prevents runs and tree moves while it is ``busy``."""

    def __init__(self, session: CompactionSession) -> None:
        self._session = session
        self._abort: Abort | None = None
        self.handed_off = False
        """Whether the last compaction moved the conversation to another session."""

    @property
    def busy(self) -> bool:
        """Whether a compaction is running."""
        return self._abort is not None

    def abort(self) -> None:
        """Abort the running compaction; nothing of it is stored."""
        if self._abort is not None:
            self._abort.request()

    async def compact(self, request: CompactionRequest) -> CompactionResult:
        """Compact the conversation or raise ``CompactionFailed``; emits events in both cases."""
        if self._abort is not None:
            raise CompactionFailed("aborted", "Another compaction is already running.")
        # Deferred: most sessions never compact.
        from pi.coding.compaction.events import CompactionEnd, CompactionStart
        from pi.coding.compaction.execution import CompactionRun

        self._abort = abort = Abort(self._session.clock)
        end = CompactionEnd(reason=request.reason)
        await self._session.emit(CompactionStart(reason=request.reason))
        run = CompactionRun(request, self._session)
        try:
            result = await abort.wait(run.run)
        except (Aborted, asyncio.CancelledError) as cut:
            end = replace(end, aborted=True)
            if isinstance(cut, asyncio.CancelledError):
                raise
            raise CompactionFailed("aborted", "Compaction cancelled") from None
        except CompactionFailed as error:
            end = _failed_end(end, error)
            raise
        else:
            handed_off = run.handed_off or UNSET
            end = replace(end, result=result, will_retry=request.will_retry, handed_off=handed_off)
            return result
        finally:
            self._abort, self.handed_off = None, run.handed_off
            await self._emit_end(end)

    async def report_failure(self, reason: CompactionReason, message: str) -> None:
        """Emit the end of a recovery that does not compact again."""
        from pi.coding.compaction.events import CompactionEnd  # see ``compact``

        await self._emit_end(CompactionEnd(reason=reason, error_message=message))

    async def _emit_end(self, end: CompactionEnd) -> None:
        await self._session.emit(end)
        if end.result is UNSET:
            from pi.coding.compaction.events import SessionCompactFailedEvent  # see ``compact``

            failed = SessionCompactFailedEvent(
                reason=end.reason,
                error_message=end.error_message or "",
                aborted=end.aborted,
                will_retry=end.will_retry,
            )
            await self._session.bus.emit(failed)


def _failed_end(end: CompactionEnd, error: CompactionFailed) -> CompactionEnd:
    if error.code == "aborted":
        return replace(end, aborted=True)
    reason = f"{error.message} {error.hint}".rstrip()
    return replace(end, error_message=f"{FAILED[end.reason]}: {reason}")


NEARLY_FULL = 0.95
"""Fill level above which a truncated response has run out of room."""
UNKNOWN_CACHE_SECONDS = 3600
"""Assumed cache lifetime of a provider that does not state one."""
CONTINUE = CustomMessageEntry(
    custom_type="auto-continue",
    content="The conversation was compacted. Go on with what is still to do; if nothing is, stop.",
    display=False,
)


def is_automatic(options: CompactionOptions) -> bool:
    """Whether anything is compacted automatically."""
    return options.enabled and options.strategy != "off"


class CompactionPolicy(Policy):
    """Checks before every prompt, after every batch of tools and at the end of every run."""

    def __init__(self, compactor: Compactor, session: CompactionSession) -> None:
        self._compactor = compactor
        self._session = session
        self._recovered = False
        """Whether the overflow of this prompt already had its one compaction and retry."""
        self._recovery = ""
        """What was done about that overflow, for the message after a second one."""
        self._room_made = False
        """Whether an extension has already made room during this prompt."""
        self._hidden = ""
        """The id of a truncated response that is hidden while it is requested again."""
        self._worthless = False
        """Whether the previous turn had results marked as useless."""

    async def at_boundary(self, boundary: Boundary) -> Next:
        """Compact if it is due, unless another policy has claimed the boundary.

        A check that finds nothing to do emits no event.
        """
        if boundary.kind == "prompt":
            self._recovered = self._room_made = False
            self._hidden = ""
        if boundary.kind == "settle" and self._hidden and not boundary.next.claimed:
            boundary = replace(boundary, next=self._restore_hidden(boundary))
        is_checked = boundary.kind in ("prompt", "settle") or (
            boundary.kind == "turn" and boundary.results
        )
        if not is_checked or boundary.next.claimed or boundary.outcome == "aborted":
            return boundary.next
        options = self._session.options().for_model(self._session.agent.model)
        if not is_automatic(options):
            return boundary.next
        match boundary.kind:
            case "prompt":
                conversation = self._session.conversation()
                entry_count = len(conversation.log.tree.outlines)
                is_cold = await off_loop(partial(self._measure, conversation), entry_count)
                decision = boundary.next
                if is_cold and options.drop_useless:
                    decision = await self._elide_stale(decision)
                return await self._prune_or_compact(
                    decision, options, conversation, before_prompt=True
                )
            case "turn":
                return await self._prune_or_compact(
                    await self._elide_useless(boundary, options), options
                )
            case _:
                return await self._decide_settled(boundary, options)

    async def _items(self) -> tuple[CompactionItem, ...]:
        """Return the branch, starting at the first entry that the previous compaction kept."""
        return await context_items(self._session.conversation())

    async def _decide_settled(self, boundary: Boundary, options: CompactionOptions) -> Next:
        answer = boundary.answer
        if answer is None or not self._is_from_current_model(answer):
            return boundary.next
        if isinstance(boundary.error, ContextOverflow):
            if self._recovered:
                return await self._give_up(boundary.next)
            return self._recover(
                self._leave_out(boundary.next), CompactionRequest(reason="overflow")
            )
        if self._window_was_full(answer):
            return self._recover(
                boundary.next, self._without_latest(CompactionRequest(reason="overflow"))
            )
        if self._was_cut_off(answer):
            return self._recover(
                boundary.next, self._without_latest(CompactionRequest(reason="incomplete"))
            )
        self._recovered = False
        return await self._prune_or_compact(boundary.next, options, last=True)

    def _is_from_current_model(self, answer: AssistantMessage) -> bool:
        """Whether ``answer`` is from the current model: other models have other windows."""
        model = self._session.agent.model
        return (answer.provider, answer.model) == (model.provider, model.id)

    def _window_was_full(self, answer: AssistantMessage) -> bool:
        """Whether the window was too full to respond. Complete responses are not repeated."""
        return answer.stop_reason == "length" and is_silent_overflow(
            answer, self._session.agent.model
        )

    def _was_cut_off(self, answer: AssistantMessage) -> bool:
        """Whether the nearly full window truncated a response, not its output limit.

        A response truncated at its output limit is kept: the user may prompt "please continue".
        """
        model = self._session.agent.model
        return (
            answer.stop_reason == "length"
            and answer.usage.output < model.max_tokens
            and answer.usage.total_tokens >= NEARLY_FULL * model.context_window > 0
        )

    # Pruning, compaction and recovery -------------------------------------------------------------

    def _recover(self, decision: Next, request: CompactionRequest) -> Next:
        """Return the decision to make room and repeat the request; once for each prompt."""
        if self._recovered:
            return decision
        self._recovered = True
        request = replace(request, will_retry=True)
        return replace(decision, action="again", prepare=partial(self._make_room, request))

    async def _give_up(self, decision: Next) -> Next:
        """Report that the request overflowed again, and what was tried; ends the run."""
        model = self._session.agent.model
        message = (
            f"{FAILED['overflow']}: {self._recovery} and it still does not fit {model.id}."
            " Start a new session (/new), or choose a model with a larger window (/model)."
        )
        await self._compactor.report_failure("overflow", message)
        return replace(decision, action="stop", reason=message)

    def _without_latest(self, request: CompactionRequest) -> CompactionRequest:
        """Return a request that also hides the last response, if the compaction succeeds."""
        return replace(request, leave_out=latest_answer(self._session.conversation().log) or "")

    async def _prune_or_compact(
        self,
        decision: Next,
        options: CompactionOptions,
        conversation: SessionConversation | None = None,
        *,
        last: bool = False,
        before_prompt: bool = False,
    ) -> Next:
        """Above the threshold, prune old and useless results; compact if that is not enough."""
        conversation = conversation or self._session.conversation()
        tokens, window = tokens_in_use(conversation), self._session.agent.model.context_window
        if not should_compact(tokens, window, options):
            return decision
        items = await self._items()
        pruning = await off_loop(partial(prune_tool_outputs, items), len(items))
        decision = replace(decision, entries=(*decision.entries, *pruning.edits))
        if not should_compact(tokens - pruning.tokens_saved, window, options):
            return decision
        if last and options.auto_continue:
            again = _prepare_first(decision, partial(self._compact_and_continue, options))
            return replace(again, action="again")
        request = CompactionRequest(reason="threshold", before_prompt=before_prompt)
        return _prepare_first(decision, partial(self._compact, request))

    async def _elide_useless(self, boundary: Boundary, options: CompactionOptions) -> Next:
        """Elide results marked as useless, one turn after the model has seen them."""
        seen, self._worthless = self._worthless, any(result.useless for result in boundary.results)
        if not (seen and options.drop_useless):
            return boundary.next
        items = await self._items()
        answers = (n for n, item in enumerate(items) if item.role == "assistant")
        older = items[: max(answers, default=0)]
        pruning = await off_loop(partial(elide_worthless, older, cache_is_cold=False), len(older))
        return replace(boundary.next, entries=(*boundary.next.entries, *pruning.edits))

    async def _elide_stale(self, decision: Next) -> Next:
        """Elide all useless results after a long pause: the provider's cache has expired anyway."""
        log = self._session.conversation().log
        positions = context_path(log).visible
        if not await off_loop(partial(may_have_worthless, log, positions), len(positions)):
            return decision
        items = await self._items()
        pruning = await off_loop(partial(elide_worthless, items, cache_is_cold=True), len(items))
        return replace(decision, entries=(*decision.entries, *pruning.edits))

    def _measure(self, conversation: SessionConversation) -> bool:
        """Measure new entries; returns whether the provider's cache has probably expired."""
        measure_sizes(conversation)
        latest = latest_answer(conversation.log)
        answer = message_of(conversation.log.entry(latest)) if latest else None
        if not isinstance(answer, AssistantMessage) or not answer.timestamp:
            return False
        cache = self._session.agent.model.prompt_cache
        lifetime = cache.long or cache.short if isinstance(cache, PromptCache) else None
        seconds = lifetime if isinstance(lifetime, int) else UNKNOWN_CACHE_SECONDS
        return self._session.clock.now_ms() - answer.timestamp > seconds * 1000

    def _leave_out(self, decision: Next) -> Next:
        """Hide the last response from the model; it stays in the log."""
        target = latest_answer(self._session.conversation().log)
        if target is None:
            return decision
        edit = ContextEdit(target_id=target, replacement=None)
        return replace(decision, entries=(*decision.entries, edit))

    def _restore_hidden(self, boundary: Boundary) -> Next:
        """Show the truncated response to the model again if there is no other in its place."""
        hidden, self._hidden = self._hidden, ""
        if boundary.outcome == "completed":
            return boundary.next
        answer = message_of(self._session.conversation().log.entry(hidden))
        if not isinstance(answer, AssistantMessage) or not answer.content:
            return boundary.next
        edit = ContextEdit(target_id=hidden, replacement={"content": to_builtins(answer.content)})
        return replace(boundary.next, entries=(*boundary.next.entries, edit))

    async def _extensions_make_room(self, request: CompactionRequest) -> bool:
        """Let extensions make room, at most once per prompt; returns whether one has done so."""
        # Deferred: most sessions never fill their window.
        from pi.coding.compaction.events import ContextFullEvent

        session = self._session
        if self._room_made or ContextFullEvent not in session.bus.subscribed:
            return False
        event = ContextFullEvent(
            reason=request.reason,
            tokens=tokens_in_use(session.conversation(), without=request.leave_out),
            window=session.agent.model.context_window,
        )
        self._room_made = (await session.bus.query(event)).handled
        return self._room_made

    async def _make_room(self, request: CompactionRequest) -> None:
        """Make room for the response that did not fit, or end the run."""
        if not await self._extensions_make_room(request):
            result = await self._compact_or_stop(request)
            after = tokens_in_use(self._session.conversation())
            self._recovery = (
                f"The conversation was compacted from {result.tokens_before:,} to {after:,} tokens"
            )
            self._hidden = request.leave_out
            return
        self._recovered = False  # the larger window may overflow as well: then it is compacted
        if target := request.leave_out:
            await self._session.add(ContextEdit(target_id=target, replacement=None))
            self._hidden = target

    async def _compact(self, request: CompactionRequest) -> None:
        if await self._extensions_make_room(request):
            return
        try:
            await self._compactor.compact(request)
        except CompactionFailed as error:
            log.warning("compaction failed: %s", error.message)
        else:
            self._stop_if_handed_off()

    async def _compact_and_continue(self, options: CompactionOptions) -> None:
        """Compact, then let the model continue.

        Ends the run if the conversation is still too large: it would compact without end.
        """
        request = CompactionRequest(reason="threshold")
        if await self._extensions_make_room(request):
            raise StopRun("There is room again without a compaction.")
        await self._compact_or_stop(request)
        tokens, window = (
            tokens_in_use(self._session.conversation()),
            self._session.agent.model.context_window,
        )
        if should_compact(tokens, window, options):
            raise StopRun("The conversation is still above the threshold.")
        await self._session.add(CONTINUE)

    async def _compact_or_stop(self, request: CompactionRequest) -> CompactionResult:
        try:
            result = await self._compactor.compact(request)
        except CompactionFailed as error:
            raise StopRun(error.message) from None
        self._stop_if_handed_off()
        return result

    def _stop_if_handed_off(self) -> None:
        """End the run after a hand-off: the next request would be as long, and hand off again."""
        if self._compactor.handed_off:
            raise StopRun("The conversation continues in a new session.")


def _prepare_first(decision: Next, work: Callable[[], Awaitable[None]]) -> Next:
    """Return ``decision`` with ``work`` run before its own preparation."""
    next_step = decision.prepare

    async def run_both() -> None:
        await work()
        if next_step is not None:
            await next_step()

    return replace(decision, prepare=run_both)


class IdleCompaction:
    """Compacts an idle session: a timer runs from the end of a run to the start of the next.

    ``busy`` reports background work: the compaction is then postponed.
    """

    KINDS = (AgentStart, AgentSettled)

    def __init__(
        self, compactor: Compactor, session: CompactionSession, *, busy: Callable[[], bool]
    ) -> None:
        self._compactor = compactor
        self._session = session
        self._busy = busy
        self._waiting: asyncio.Task[bool] | None = None

    def handle_event(self, event: object) -> None:
        """Stop the timer; start it again when the agent has settled."""
        self._stop()
        if isinstance(event, AgentSettled) and self._session.options().idle_enabled:
            self._waiting = asyncio.get_running_loop().create_task(
                self.compact_when_idle(), name="idle compaction", context=Context()
            )

    async def close(self) -> None:
        """Stop the timer."""
        waiting = self._waiting
        self._stop()
        if waiting is not None:
            await asyncio.wait({waiting})

    async def compact_when_idle(self) -> bool:
        """Wait for the idle timeout and compact if it is enabled and due; returns whether it ran.

        Started when the agent settles, cancelled at the next prompt.
        """
        session, compactor = self._session, self._compactor
        options = session.options().for_model(session.agent.model)
        if not (is_automatic(options) and options.idle_enabled):
            return False
        await session.clock.sleep(options.idle_timeout_seconds)
        while self._busy() or compactor.busy:
            await session.clock.sleep(options.idle_timeout_seconds)
        if tokens_in_use(session.conversation()) <= options.idle_threshold_tokens:
            return False
        try:
            await compactor.compact(CompactionRequest(reason="idle"))
        except CompactionFailed as error:
            log.warning("idle compaction failed: %s", error.message)
            return False
        return True

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
