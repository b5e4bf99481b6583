"""Asks the questions of the model: dialogs on the screen, UI requests over RPC."""

from __future__ import annotations

from typing import Any

from pi.batteries.ask.questions import (
    AskAnswer,
    AskParams,
    AskQuestion,
    options_of,
    other_label,
    problem,
    seconds_of,
    summary,
    title_of,
)
from pi.extension import (
    ExtensionAPI,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    one_line,
)

NAME = "ask"
DESCRIPTION = """\
Ask the user, and wait for the answer. Use it for decisions that are the user's: requirements that \
can be read in two ways, trade-offs, names, permission for something with consequences.
Do not ask what you can find out by reading, what the user has said already, or whether to go on.
Ask everything that you need at once. Give two to four options that differ really, the one that \
you recommend as `recommended`, and say in `description` what follows from each. The user can \
always write another answer: no option "other" is needed. `preview` shows code or layouts."""
DISMISSED = (
    "The user closed the question without an answer. Do not repeat it: wait for the user's next"
    " message."
)
SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("ask.enabled", bool, False, "give the model the ask tool"),
    ("ask.timeout", float, 0.0, "seconds to wait for an answer; 0 waits for ever"),
    ("ask.notify", bool, True, "notify the user of a question who looks at another window"),
)
_TIMED_OUT = object()
"""What a dialog returns whose time is over."""


def extension(pi: ExtensionAPI) -> None:
    """Give the model the tool, where a user can answer."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    pi.add_view("tool", NAME, "pi.batteries.ask.views:ask")
    asking = Asking(pi)
    tool = make_tool(
        name=NAME,
        label=NAME,
        description=DESCRIPTION,
        params=AskParams,
        run=asking.run,
        execution_mode="sequential",  # one dialog at a time
        approval="read",
    )
    pi.on("session_start", lambda event, ctx: pi.add_tool(tool) if ctx.has_ui else None)


class Asking:
    """The questions of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def run(self, params: AskParams, ctx: ToolContext) -> ToolResult:
        """Ask all questions; the first that the user closes ends the call."""
        if not self._pi.context.has_ui:
            raise ToolFailed("No user can answer here. Decide yourself, and say what you assumed.")
        if wrong := problem(params.questions):
            raise ToolFailed(wrong)
        answers: list[AskAnswer] = []
        count = len(params.questions)
        for place, question in enumerate(params.questions, 1):
            self._alert(question)
            answer = await self._ask(question, title_of(question, place, count))
            if answer is None:
                given = f"{summary(answers)}\n{DISMISSED}" if answers else DISMISSED
                return self._result(given, answers, terminate=True, dismissed=question.id)
            answers.append(answer)
            ctx.update(self._result(summary(answers), answers))
        return self._result(summary(answers), answers)

    def _alert(self, question: AskQuestion) -> None:
        if self._pi.settings.get("ask.notify"):
            self._pi.context.ui.alert(f"pi asks: {one_line(question.question)}")

    @staticmethod
    def _result(
        text: str, answers: list[AskAnswer], *, terminate: bool = False, dismissed: str = ""
    ) -> ToolResult:
        details: dict[str, Any] = {"answers": [each.as_json() for each in answers]}
        if dismissed:
            details["dismissed"] = dismissed
        return ToolResult.of(text, details=details, terminate=terminate)

    async def _ask(self, question: AskQuestion, title: str) -> AskAnswer | None:
        """Return the answer; ``None`` if the user closed the dialog."""
        if not question.options:
            return await self._written(question, (), title)
        ui, recommended = self._pi.context.ui.with_guests, question.recommended_label
        timeout = seconds_of(self._pi.settings.get("ask.timeout"))
        options, other = options_of(question), other_label(question)
        if question.multi:
            chosen: Any = await ui.select(
                title,
                options,
                multi=True,
                initial=[recommended] if recommended else None,
                timeout=timeout,
                on_timeout=_TIMED_OUT,
            )
        else:
            one: Any = await ui.select(
                title, options, initial=recommended, timeout=timeout, on_timeout=_TIMED_OUT
            )
            chosen = [one] if isinstance(one, str) else one
        if chosen is _TIMED_OUT:
            return self._late(question)
        if chosen is None:
            return None
        labels = tuple(label for label in chosen if label != other)
        if other in chosen:
            return await self._written(question, labels, title)
        return AskAnswer(id=question.id, question=question.question, chosen=labels)

    async def _written(
        self, question: AskQuestion, labels: tuple[str, ...], title: str
    ) -> AskAnswer | None:
        timeout = seconds_of(self._pi.settings.get("ask.timeout"))
        text: Any = await self._pi.context.ui.with_guests.editor(
            title, style="prompt", timeout=timeout, on_timeout=_TIMED_OUT
        )
        if text is _TIMED_OUT:
            return self._late(question)
        if text is None or not text.strip():
            # Back to the options: Escape in the editor must not lose the question.
            return await self._ask(question, title) if question.options else None
        return AskAnswer(
            id=question.id, question=question.question, chosen=labels, other=text.strip()
        )

    @staticmethod
    def _late(question: AskQuestion) -> AskAnswer:
        label = question.recommended_label
        return AskAnswer(
            id=question.id,
            question=question.question,
            chosen=(label,) if label else (),
            timed_out=True,
        )
