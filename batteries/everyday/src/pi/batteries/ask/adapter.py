"""Shows the questions of the model in dialogs or over RPC, and returns the answers as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pi.extension import (
    ExtensionAPI,
    Json,
    Meta,
    Option,
    Record,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    one_line,
)

MAX_QUESTIONS = 8
MAX_OPTIONS = 12
OTHER = "Other…"
RECOMMENDED = "recommended"
LEGACY_MILLISECONDS = 1000
"""Larger values of ``ask.timeout`` are milliseconds, the unit of older versions."""


class AskOption(Record):
    """One of the answers to choose from."""

    label: Annotated[str, Meta(min_length=1, description="The answer, in one to five words")]
    description: Annotated[str, Meta(description="What follows from this choice")] = ""
    preview: Annotated[
        str, Meta(description="Text shown while the option is selected: code, a layout, a sketch")
    ] = ""


class AskQuestion(Record):
    """One question."""

    id: Annotated[str, Meta(min_length=1, description="A short name, for the answer")]
    question: Annotated[str, Meta(min_length=1, description="The whole question")]
    options: Annotated[
        tuple[AskOption, ...],
        Meta(max_length=MAX_OPTIONS, description="Two or more; the user can always write instead"),
    ] = ()
    header: Annotated[str, Meta(description="One or two words above the question")] = ""
    multi: Annotated[bool, Meta(description="Whether several options can be chosen")] = False
    recommended: Annotated[
        int | None, Meta(description="The option that you would choose, counted from 0")
    ] = None

    @property
    def recommended_label(self) -> str | None:
        """The label of the recommended option; ``None`` if there is none."""
        if self.recommended is None or not 0 <= self.recommended < len(self.options):
            return None
        return self.options[self.recommended].label


class AskParams(Record):
    """Arguments of a call."""

    questions: Annotated[
        tuple[AskQuestion, ...],
        Meta(min_length=1, max_length=MAX_QUESTIONS, description="Asked one after the other"),
    ]


class AskAnswer(Record):
    """The user's answer to one question."""

    id: str
    question: str
    chosen: tuple[str, ...] = ()
    other: str = ""
    """Text that the user wrote instead of an option, or in addition to the chosen ones."""
    timed_out: bool = False
    """Whether the dialog timed out; ``chosen`` is then the recommended option, if there is one."""

    def as_json(self) -> Json:
        """Return the answer for the details of the result."""
        fields: Json = {"id": self.id, "question": self.question, "selected": list(self.chosen)}
        if self.other:
            fields["other"] = self.other
        if self.timed_out:
            fields["timedOut"] = True
        return fields


def find_problem(questions: Sequence[AskQuestion]) -> str:
    """Return why the questions cannot be asked; empty if they can."""
    ids = [question.id for question in questions]
    if len(set(ids)) < len(ids):
        return "Each question needs an id of its own."
    for question in questions:
        labels = [option.label for option in question.options]
        if len(set(labels)) < len(labels):
            return f"The options of {question.id} must differ."
        if question.recommended is not None and question.recommended_label is None:
            return f"The recommended option of {question.id} does not exist: count from 0."
    return ""


def title_of(question: AskQuestion, position: int, count: int) -> str:
    """Return the title of the dialog."""
    header = one_line(question.header)
    if count > 1:
        header = (
            f"{header} ({position} of {count})" if header else f"Question {position} of {count}"
        )
    text = question.question.strip()
    return f"{header}: {text}" if header else text


def options_of(question: AskQuestion) -> list[Option]:
    """Return the rows of the dialog; the last one lets the user write."""
    rows = []
    for index, option in enumerate(question.options):
        description = one_line(option.description)
        if index == question.recommended:
            description = f"{RECOMMENDED}: {description}" if description else RECOMMENDED
        rows.append(Option(label=option.label, description=description, preview=option.preview))
    return [*rows, Option(label=other_label(question), description="write an answer")]


def other_label(question: AskQuestion) -> str:
    """Return the label of the last row, which differs from the labels of the model's options."""
    return (
        OTHER if all(option.label != OTHER for option in question.options) else f"{OTHER} (write)"
    )


def summary(answers: Sequence[AskAnswer]) -> str:
    """Return the answers for the model."""
    return "\n".join(f"{answer.id}: {_answer_text(answer)}" for answer in answers)


def _answer_text(answer: AskAnswer) -> str:
    parts = [", ".join(answer.chosen)] if answer.chosen else []
    if answer.other:
        parts.append(f"the user wrote: {answer.other}")
    if answer.timed_out:
        chosen = ", ".join(answer.chosen)
        return (
            f"{chosen} (no answer in time: this is your recommendation)"
            if chosen
            else "no answer in time: decide yourself, and say so"
        )
    return "; ".join(parts) or "none of the options"


def seconds_of(timeout: float) -> float | None:
    """Return the time limit of a dialog in seconds; ``None`` for 0 and less."""
    if timeout <= 0:
        return None
    return timeout / 1000 if timeout > LEGACY_MILLISECONDS else timeout


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
"""Result of a dialog that timed out."""


def extension(pi: ExtensionAPI) -> None:
    """Register the tool in sessions with a user interface."""
    pi.settings.declare_all(SETTINGS)
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
        """Ask all questions; if the user closes one of them, the rest is not asked."""
        if not self._pi.context.has_ui:
            raise ToolFailed("No user can answer here. Decide yourself, and say what you assumed.")
        if error := find_problem(params.questions):
            raise ToolFailed(error)
        answers: list[AskAnswer] = []
        count = len(params.questions)
        for position, question in enumerate(params.questions, 1):
            self._alert(question)
            answer = await self._ask(question, title_of(question, position, count))
            if answer is None:
                text = f"{summary(answers)}\n{DISMISSED}" if answers else DISMISSED
                return self._result(text, answers, terminate=True, dismissed=question.id)
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
        details: dict[str, Any] = {"answers": [answer.as_json() for answer in answers]}
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
            return self._timed_out_answer(question)
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
            return self._timed_out_answer(question)
        if text is None or not text.strip():
            # Back to the options: Escape in the editor must not lose the question.
            return await self._ask(question, title) if question.options else None
        return AskAnswer(
            id=question.id, question=question.question, chosen=labels, other=text.strip()
        )

    @staticmethod
    def _timed_out_answer(question: AskQuestion) -> AskAnswer:
        label = question.recommended_label
        return AskAnswer(
            id=question.id,
            question=question.question,
            chosen=(label,) if label else (),
            timed_out=True,
        )
