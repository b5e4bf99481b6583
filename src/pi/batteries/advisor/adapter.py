"""Asks the advisor at boundaries of a run, and gives its advice to the agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi.batteries.advisor.reviewing import ADVICE, EXTRA, QUESTION, SYSTEM, advice_in, work_of
from pi.extension import (
    Boundary,
    CommandContext,
    CustomMessageEntry,
    ExtensionAPI,
    Next,
    Policy,
    StreamOptions,
    Where,
    replace,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("advisor.enabled", bool, False, "let a second model review the work"),
    ("advisor.maxReviews", int, 2, "reviews per prompt"),
    ("advisor.everyTurns", int, 0, "also review after so many turns; 0: only at the end"),
)
FILE = "WATCHDOG.md"
KIND = "watchdog rules"
MESSAGE = "advisor"
MAX_TOKENS = 1_500


def extension(pi: ExtensionAPI) -> None:
    """Add the reviewing policy and the command."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    pi.context.resources.add_kind(KIND, lambda text, path: text.strip() or None, str)
    pi.context.resources.add_source(KIND, _files)
    advisor = Advisor(pi)
    # Last: hooks and reminders that continue the run come before a review.
    pi.add_policy(advisor, at="last")
    pi.register_command(
        "advisor",
        advisor.command,
        description="reviews by a second model on or off",
        completions=lambda begin: [word for word in ("on", "off") if word.startswith(begin)],
        needs_run_here=True,
    )


class Advisor(Policy):
    """Reviews the runs of one session; never those that the user interrupted."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._switched: bool | None = None
        self._reviews = 0
        self._turns = 0

    @property
    def is_on(self) -> bool:
        """Whether runs are reviewed."""
        if self._switched is not None:
            return self._switched
        return self._pi.settings.get("advisor.enabled") is True

    async def at_boundary(self, at: Boundary) -> Next:
        """Review when the agent is about to stop, or after a number of turns."""
        if at.kind == "prompt":
            self._reviews = self._turns = 0
        # After an abort or an error nothing is reviewed: the user wants the agent to stop.
        if not self.is_on or at.outcome != "completed" or at.next.claimed:
            return at.next
        if at.kind == "turn":
            return await self._after_turn(at)
        is_last = at.kind == "settle" and at.answer is not None
        if is_last and self._may_review() and (advice := await self._review()):
            return replace(at.next, action="again", entries=(*at.next.entries, _entry(advice)))
        return at.next

    async def _after_turn(self, at: Boundary) -> Next:
        self._turns += 1
        every = self._pi.settings.get("advisor.everyTurns")
        is_due = every > 0 and self._turns % every == 0 and bool(at.results)
        if is_due and self._may_review() and (advice := await self._review()):
            return replace(at.next, entries=(*at.next.entries, _entry(advice)))
        return at.next

    def _may_review(self) -> bool:
        return self._reviews < int(self._pi.settings.get("advisor.maxReviews"))

    async def _review(self) -> str:
        """Return the objections of the first model of the role that answers."""
        self._reviews += 1
        pi = self._pi
        projection = pi.context.session_manager.build_session_projection()
        question = QUESTION.format(work=work_of(projection.messages))
        system = self._system()
        pi.context.ui.set_status(MESSAGE, "advisor reviews")
        try:
            for each in (await pi.models.for_role("advisor")).models:
                options = StreamOptions(max_tokens=MAX_TOKENS, reasoning=each.thinking or "off")
                answer = await pi.models.complete(
                    question, model=each.model, system=system, options=options
                )
                if answer.stop_reason not in ("error", "aborted") and answer.text.strip():
                    return advice_in(answer.text)
                pi.log.info("no review by %s: %s", each.model.id, answer.error_message)
        finally:
            pi.context.ui.set_status(MESSAGE, None)
        return ""

    def _system(self) -> str:
        rules = [str(item.value) for item in self._pi.context.resources.load(KIND)]
        return SYSTEM + (EXTRA.format(rules="\n\n".join(rules)) if rules else "")

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """``/advisor``: switch reviews of this session."""
        word = arguments.strip()
        if word in ("on", "off"):
            self._switched = word == "on"
        elif word:
            ctx.ui.notify("Usage: /advisor, /advisor on, /advisor off", "warning")
            return
        else:
            self._switched = not self.is_on
        models = (await self._pi.models.for_role("advisor")).models
        name = f"{models[0].model.provider}/{models[0].model.id}" if models else "no model"
        ctx.write(f"Reviews are {f'on, by {name}' if self.is_on else 'off'}.\n")


def _entry(advice: str) -> CustomMessageEntry:
    return CustomMessageEntry(custom_type=MESSAGE, content=ADVICE.format(text=advice), display=True)


def _files(where: Where) -> Iterator[Path]:
    """Yield the files with rules for reviews: those of a project count once it is trusted."""
    yield where.cwd / ".pi" / FILE
    yield where.cwd / FILE
    yield where.agent_dir / FILE
