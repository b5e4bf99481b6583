"""The strategy ``handoff`` and the command ``/handoff``."""

from __future__ import annotations

from typing import Any, Literal

from pi.extension import (
    AssistantMessage,
    CommandContext,
    CompactionResult,
    Declined,
    ExtensionAPI,
    HandOff,
    Request,
    SystemMessage,
    UserMessage,
    Work,
    replace,
    writes_texts,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("handoff.place", str, "ask", "where the document goes: ask, session or here"),
)
PLACES = ("session", "here")
NEW, HERE, CANCEL = "Start a new session with it", "Compact this session with it", "Cancel"
PROMPT = """\
Stop here and write a hand-off document: another session takes over this work and will see nothing \
of this conversation but your document. Write Markdown with these sections, and "none" where there \
is nothing to say: Goal; Instructions and constraints (the user's own words where they matter); \
State (done, in progress, blocked and why); Decisions and their reasons; Files (paths, and what \
matters about each); Next steps in order, beginning with the very next action; Facts that are hard \
to find again. Be exact with names, paths, commands and numbers, and brief with everything else. \
Call no tools. Reply with the document alone."""
FOCUS = "The user wants the next session to concentrate on this: {}"
MIN_MESSAGES = 2
"""Minimum of messages; with fewer there is nothing to hand off."""
LEAST_CHARACTERS = 40
"""Minimum length of a document; a shorter answer is a refusal or a remark."""
LEAD = "This session continues an earlier one. Its hand-off document:"


def extension(pi: ExtensionAPI) -> None:
    """Add the strategy and the command."""
    pi.settings.declare_all(SETTINGS)
    strategy = HandOffStrategy(pi)
    pi.add_compaction("handoff", strategy)
    pi.register_command(
        "handoff",
        strategy.command,
        description="write a hand-off document and continue with it: /handoff [focus]",
    )


class HandOffStrategy:
    """Lets the model write a document, which starts a new session or replaces the history."""

    keeps: Literal["nothing"] = "nothing"

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._place = ""
        """The user's choice for the compaction that ``/handoff`` starts; empty without one."""

    async def compact(self, work: Work) -> CompactionResult | HandOff | Declined:
        """Return the document for this or a new session, or decline."""
        target, self._place = self._place or self._configured(), ""
        if (declined := self._declined(work, target)) is not None:
            return declined
        answer = await self._ask(work.instructions)
        document = document_of(answer)
        if not document:
            return Declined(why=f"There is no hand-off document: {why_none(answer)}.")
        # In this session the newest messages stay, so that their facts need not be repeated.
        facts = work.kept_facts if target == "here" else work.all_facts()
        # The document is stored, shown and perhaps shared, so it must not contain secrets.
        text = self._pi.redact("\n\n".join(filter(None, (document, facts.text))), "export")
        details = self._pi.redact(facts.details, "export")
        if target == "here" and work.preparation is not None:
            return CompactionResult(
                summary=text,
                first_kept_id=work.preparation.first_kept_id,
                tokens_before=work.preparation.tokens_before,
                usage=answer.usage,
                details=details,
            )
        return HandOff(
            document=f"{LEAD}\n\n{text}",
            go_on=work.options.auto_continue and work.reason != "manual",
            details=details,
        )

    def _declined(self, work: Work, target: str) -> Declined | None:
        """Return why no document is requested; ``None`` if nothing prevents it."""
        model = self._pi.context.model
        if model is not None and not writes_texts(model):
            return Declined(why=f"{model.provider}/{model.id} cannot write documents.")
        if work.reason == "overflow":
            return Declined(why="A hand-off would send the conversation that does not fit again.")
        messages = [item for item in work.items if item.role in ("user", "assistant", "custom")]
        if len(messages) < MIN_MESSAGES:
            return Declined(why="There is nothing to hand off yet.")
        if target == "here" and work.preparation is None:
            return Declined(why=work.why_not, code="nothing_to_compact")
        return None

    def _configured(self) -> str:
        target = self._pi.settings.get("handoff.place")
        return target if target in PLACES else "session"

    async def _ask(self, focus: str) -> AssistantMessage:
        """Request the document without tools; if the answer has none, again with tools."""
        request, now_ms = self._pi.context.next_request(), self._pi.scope.clock.now_ms()
        answer = AssistantMessage()
        for choice in ("none", "auto"):
            handoff_request = request_for(request, focus, tool_choice=choice, now_ms=now_ms)
            answer = await self._pi.models.complete(handoff_request)
            if document_of(answer) or answer.stop_reason == "aborted":
                break
        return answer

    # ``/handoff`` ---------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Ask the user where the document goes, then start the compaction that writes it."""
        if not _has_messages(ctx):
            ctx.ui.notify("There is nothing to hand off yet.", "warning")
            return
        target = str(self._pi.settings.get("handoff.place"))
        if target not in PLACES and ctx.has_ui:
            chosen = await ctx.ui.select("Hand off: what happens with the document?", _OPTIONS)
            if chosen is None or chosen == CANCEL:
                return
            target = "here" if chosen == HERE else "session"
        self._place = target if target in PLACES else "session"
        ctx.compact(arguments.strip(), strategy="handoff")


_OPTIONS = [NEW, HERE, CANCEL]


def _has_messages(ctx: CommandContext) -> bool:
    messages = [m for m in ctx.next_request().messages if not isinstance(m, SystemMessage)]
    return len(messages) >= MIN_MESSAGES


# The document -------------------------------------------------------------------------------------


def request_for(request: Request, focus: str, *, tool_choice: str, now_ms: int) -> Request:
    """Return the request: the conversation, which the provider has cached, and the prompt."""
    text = "\n\n".join((PROMPT, *((FOCUS.format(focus.strip()),) if focus.strip() else ())))
    instruction = UserMessage(content=text, timestamp=now_ms)
    messages = (*request.messages, instruction)
    return replace(
        request, messages=messages, tool_choice="none" if tool_choice == "none" else "auto"
    )


def document_of(answer: AssistantMessage) -> str:
    """Return the document in an answer; empty if there is none."""
    if answer.stop_reason not in ("stop", "length", "toolUse"):
        return ""
    text = answer.text.strip()
    return text if len(text) >= LEAST_CHARACTERS else ""


def why_none(answer: AssistantMessage) -> str:
    """Return why an answer has no document."""
    if answer.stop_reason in ("error", "aborted"):
        return str(answer.error_message or "the request failed")
    return "the model wrote no document"
