"""Runs or previews one compaction: hooks of extensions, strategies in order, new entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from pi.agent.compaction.budget import CompactionItem, threshold, tokens_of
from pi.agent.compaction.compact import Facts, all_facts, kept_facts
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.prepare import Preparation, PreviousSummary, prepare
from pi.agent.compaction.summarise import SummaryInstructions
from pi.agent.compaction.text import serialise
from pi.base.records import Record, replace
from pi.base.tasks import off_loop
from pi.coding.compaction.events import (
    CompactingAnswer,
    CompactionResult,
    SessionBeforeCompactEvent,
    SessionCompactEvent,
    SessionCompactingEvent,
)
from pi.coding.compaction.measuring import (
    Measured,
    measured,
    measured_off_loop,
    shown_ids,
    tokens_in_use,
)
from pi.coding.compaction.request import CompactionRequest, CompactionSession
from pi.coding.compaction.strategies import (
    Declined,
    Edits,
    HandOff,
    Keeps,
    Outcome,
    Strategy,
    Work,
)
from pi.coding.session.context import message_of
from pi.coding.session.display import EDITED
from pi.coding.session.entries import Compaction, ContextEdit, Custom, Entry
from pi.coding.session.log import SessionLog

SUMMARY, SHAKE = "context-full", "shake"
MAX_PREVIEW_CHARACTERS = 80
"""Maximum characters of a message in a preview."""


def _begin(item: CompactionItem) -> str:
    """Return the beginning of a message, without the tag around it."""
    lines = "\n".join(serialise([item])).split("\n")
    text = " ".join(" ".join(lines[1:-1]).split())
    return text if len(text) <= MAX_PREVIEW_CHARACTERS else f"{text[: MAX_PREVIEW_CHARACTERS - 1]}…"


class CompactionRun:
    """One requested compaction. The conversation is measured once, at the start."""

    _before: Measured

    def __init__(self, request: CompactionRequest, session: CompactionSession) -> None:
        self._request = request
        self._session = session
        self._conversation = session.conversation()
        self._leaf = self._conversation.log.leaf_id
        self._options = session.options().for_model(session.agent.model)
        self.handed_off = False
        """Whether the conversation continues in another session."""
        self._note = ""
        """Why another strategy than the selected one was used."""

    async def run(self) -> CompactionResult:
        """Run the compaction and return its public result; raises ``CompactionFailed``."""
        entries = len(self._conversation.log.tree.outlines)
        leave_out = self._request.leave_out
        self._before = await measured_off_loop(self._conversation, without=leave_out)
        await self._session.load_strategy(self._request.strategy or self._options.strategy)
        preparation, why_not = await off_loop(self._prepare, entries)
        extra = CompactingAnswer()
        if preparation is not None:
            ready = await self._supplied_by_extension(preparation)
            if ready is not None:
                return await self._store(ready, from_hook=True)
            compacting = SessionCompactingEvent(reason=self._request.reason)
            extra = (await self._session.bus.query(compacting)).added
            preparation = replace(preparation, guidance=self._guidance(extra))
        match await self._first_outcome(preparation, why_not):
            case CompactionResult() as result:
                preserved = result.preserve_data or {}
                data = preserved | extra.preserve_data
                return await self._store(replace(result, preserve_data=data or UNSET))
            case Edits() as edits:
                return await self._edit(edits)
            case HandOff(document=document, go_on=go_on, details=details):
                # A waiting prompt is sent to the new session and continues the work itself.
                go_on = go_on and not self._request.before_prompt
                await self._session.hand_off(document, go_on=go_on, details=details)
                self.handed_off = True
                return self._unsummarised_result(document)
            case Declined(why=why, hint=hint, code=code):
                raise CompactionFailed(code, why, hint=hint)

    # Preparation ----------------------------------------------------------------------------------

    def _prepare(self) -> tuple[Preparation | None, str]:
        """Return the plan of a summary; ``None`` and the reason if there is too little."""
        before = self._before
        try:
            preparation = prepare(
                before.items,
                self._options,
                window=self._session.agent.model.context_window,
                tokens_before=before.tokens,
                previous=self._previous(),
                before=before.covered,
                guidance=self._guidance(CompactingAnswer()),
                ratio=before.ratio,
            )
        except CompactionFailed as error:
            return None, error.message
        preparation = replace(
            preparation, archived=before.archived, archived_summary=before.archived_summary
        )
        return preparation, ""

    def _previous(self) -> PreviousSummary | None:
        earlier = self._before.previous
        if earlier is None:
            return None
        details = None if earlier.from_hook is True else earlier.details or None
        return PreviousSummary(summary=earlier.summary, details=details)

    def _all_facts(self) -> Facts:
        return all_facts(
            self._before.items,
            self._options,
            window=self._session.agent.model.context_window,
            previous=self._previous(),
            before=self._before.covered,
        )

    async def _supplied_by_extension(self, preparation: Preparation) -> CompactionResult | None:
        """Return the compaction that an extension supplies; it may also cancel."""
        bus = self._session.bus
        if SessionBeforeCompactEvent not in bus.subscribed:
            return None
        question = SessionBeforeCompactEvent(
            preparation=preparation,
            branch_entries=tuple(self._conversation.log.branch()),
            custom_instructions=self._request.instructions,
            reason=self._request.reason,
            will_retry=self._request.will_retry,
        )
        decision = (await bus.query(question)).decision
        if decision.cancel:
            raise CompactionFailed("aborted", "Compaction cancelled")
        return decision.compaction

    def _guidance(self, extra: CompactingAnswer) -> SummaryInstructions:
        return SummaryInstructions(
            custom_instructions=self._request.instructions,
            additional_context=extra.context,
            prompt=extra.prompt,
        )

    # Strategies -----------------------------------------------------------------------------------

    async def _first_outcome(self, preparation: Preparation | None, why_not: str) -> Outcome:
        session, before = self._session, self._before
        models = (session.agent.model, *session.fallbacks())
        work = Work(
            reason=self._request.reason,
            items=before.items,
            tokens=before.tokens,
            threshold=threshold(session.agent.model.context_window, self._options),
            preparation=preparation,
            why_not=why_not,
            previous=before.previous,
            options=self._options,
            models=models,
            ask=lambda model: session.ask(model, self._request.reason, is_last=model == models[-1]),
            all_facts=self._all_facts,
            instructions=self._request.instructions,
            remote=session.remote(),
        )
        declined: list[Declined] = []
        for strategy in self._strategies():
            outcome = await strategy.compact(work)
            if not isinstance(outcome, Declined):
                self._note = self._explain_replacement(strategy, declined)
                return outcome
            declined.append(outcome)
        if not declined:
            return Declined(why="No compaction strategy is configured.")
        # The reason of the chosen strategy alone would hide why the summary failed as well.
        is_summary = (self._request.strategy or self._options.strategy) in (SUMMARY, "off")
        counted = declined[:1] if is_summary else declined[:2]
        return Declined(
            why=" ".join(dict.fromkeys(refusal.why for refusal in counted)),
            hint=next((refusal.hint for refusal in counted if refusal.hint), ""),
            code=counted[0].code,
        )

    def _explain_replacement(self, used: Strategy, declined: Sequence[Declined]) -> str:
        """Return why ``used`` took the place of the strategies that declined; empty if none did."""
        if not declined:
            return ""
        selected = self._request.strategy or self._options.strategy
        names = {id(strategy): name for name, strategy in self._session.strategies.items()}
        return f"{selected}: {declined[0].why} Compacted with {names[id(used)]} instead."

    def _strategies(self) -> Iterator[Strategy]:
        """Yield the chosen strategy and the summary; automatic compactions also try ``shake``.

        Instructions of the user need a summary, so they skip the configured strategy.
        """
        by_name, request = self._session.strategies, self._request
        chosen = self._options.strategy
        if request.strategy:
            names = [request.strategy, SUMMARY]
        else:
            names = [SUMMARY] if request.instructions or chosen == "off" else [chosen, SUMMARY]
        if request.reason != "manual":
            names.append(SHAKE)
        for name in dict.fromkeys(names):
            if name in by_name:
                yield by_name[name]

    def preview(self) -> CompactionPreview:
        """Return the preview: what this compaction would drop and keep."""
        self._before = measured(self._conversation, without=self._request.leave_out)
        preparation, why_not = self._prepare()
        chosen = next(iter(self._strategies()), None)
        keeps: Keeps = getattr(chosen, "keeps", "recent")
        names = {id(strategy): name for name, strategy in self._session.strategies.items()}
        window = self._session.agent.model.context_window
        plan = CompactionPreview(
            strategy=names.get(id(chosen), SUMMARY),
            keeps=keeps,
            tokens=self._before.tokens,
            threshold=threshold(window, self._options),
        )
        items = [item for item in self._before.items if item.message is not None and item.tokens]
        if keeps == "all":
            return replace(plan, kept_messages=len(items), kept_tokens=tokens_of(items))
        if keeps == "nothing":
            return replace(
                plan,
                dropped_messages=len(items),
                dropped_tokens=tokens_of(items),
                carried=self._all_facts().text,
            )
        if preparation is None:
            return replace(plan, problem=why_not)
        dropped_items = (*preparation.history, *preparation.turn_prefix)
        kept_items = [item for item in preparation.kept if item.message is not None and item.tokens]
        return replace(
            plan,
            dropped_messages=sum(
                1 for item in dropped_items if item.message is not None and item.tokens
            ),
            dropped_tokens=tokens_of(dropped_items),
            kept_messages=len(kept_items),
            kept_tokens=tokens_of(kept_items),
            first_kept=_begin(kept_items[0]) if kept_items else "",
            carried=kept_facts(preparation).text,
        )

    # The log --------------------------------------------------------------------------------------

    async def _store(
        self, result: CompactionResult, *, from_hook: bool = False
    ) -> CompactionResult:
        session = self._session
        self._refuse_if_stale()
        await self._leave_out()
        draft = Compaction(
            summary=result.summary,
            first_kept_id=result.first_kept_id,
            tokens_before=result.tokens_before,
            details=result.details,
            usage=result.usage,
            from_hook=from_hook,
            system_message=self._before.instructions or UNSET,
            content=result.content,
            preserve_data=result.preserve_data,
            short_summary=result.short_summary,
        )
        entry = await session.add(draft)
        assert isinstance(entry, Compaction)
        event = SessionCompactEvent(
            compaction_entry=entry,
            from_extension=from_hook,
            reason=self._request.reason,
            will_retry=self._request.will_retry,
        )
        await session.bus.emit(event)
        return replace(
            result.public(),
            estimated_tokens_after=tokens_in_use(self._conversation),
            note=self._note or UNSET,
        )

    async def _leave_out(self) -> None:
        """Hide the response that the recovery repeats. Only now, because a failure must keep it."""
        if target := self._request.leave_out:
            await self._session.add(ContextEdit(target_id=target, replacement=None))

    async def _edit(self, edits: Edits) -> CompactionResult:
        self._refuse_if_stale()
        await self._leave_out()
        for edit in edits.edits:
            await self._session.add(edit)
        result = self._unsummarised_result(f"{len(edits.edits)} large tool results were left out.")
        # For the screen of a resumed session: context edits are not displayed.
        data = {"summary": result.summary, "tokensBefore": result.tokens_before}
        await self._session.add(Custom(custom_type=EDITED, data=data))
        return result

    def _unsummarised_result(self, document: str) -> CompactionResult:
        return CompactionResult(
            summary=document,
            first_kept_id="",
            tokens_before=self._before.tokens,
            estimated_tokens_after=tokens_in_use(self._conversation),
            note=self._note or UNSET,
        )

    def _refuse_if_stale(self) -> None:
        """Raise ``CompactionFailed`` if the user has left the branch meanwhile."""
        log = self._session.conversation().log
        if log is not self._conversation.log or (
            self._leaf is not None and log.tree.place(self._leaf) not in log.tree.upwards(log.leaf)
        ):
            raise CompactionFailed("aborted", "The conversation has moved to another branch.")


class CompactionPreview(Record):
    """The expected effect of a compaction."""

    strategy: str
    keeps: Keeps
    tokens: int
    """Tokens in use now."""
    threshold: int
    dropped_messages: int = 0
    dropped_tokens: int = 0
    kept_messages: int = 0
    kept_tokens: int = 0
    first_kept: str = ""
    """The beginning of the first message that stays as it is."""
    carried: str = ""
    """Facts that are repeated word for word: instructions, tasks, files, the next action."""
    problem: str = ""
    """Why nothing would be compacted."""


async def preview(session: CompactionSession, request: CompactionRequest) -> CompactionPreview:
    """Return what a compaction would drop and keep. Calls no model and stores nothing."""
    await session.load_strategy(request.strategy or session.options().strategy)
    return CompactionRun(request, session).preview()


def dropped(log: SessionLog) -> Sequence[Entry]:
    """Return the entries of the branch whose messages the model no longer sees.

    All of them are still in the log and can be read back by id.
    """
    visible_ids = shown_ids(log)
    entries = (entry for entry in log.branch() if message_of(entry) is not None)
    return [entry for entry in entries if entry.id not in visible_ids]
