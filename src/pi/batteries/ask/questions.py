"""Questions of the model, and the answers of the user as the model reads them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pi.extension import Json, Meta, Option, Record, one_line

MAX_QUESTIONS = 8
MAX_OPTIONS = 12
OTHER = "Other…"
RECOMMENDED = "recommended"
LEGACY_MILLISECONDS = 1000
"""A larger value of ``ask.timeout`` is in milliseconds, as older versions wrote it."""


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
        """The label of the recommended option."""
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
    """What the user answered to one question."""

    id: str
    question: str
    chosen: tuple[str, ...] = ()
    other: str = ""
    """What the user wrote instead of an option, or beside them."""
    timed_out: bool = False
    """Whether the time was over; ``chosen`` is then the recommended option."""

    def as_json(self) -> Json:
        """Return the answer for the details of the result."""
        shown: Json = {"id": self.id, "question": self.question, "selected": list(self.chosen)}
        if self.other:
            shown["other"] = self.other
        if self.timed_out:
            shown["timedOut"] = True
        return shown


def problem(questions: Sequence[AskQuestion]) -> str:
    """Return why the questions cannot be asked; empty if they can."""
    ids = [each.id for each in questions]
    if len(set(ids)) < len(ids):
        return "Each question needs an id of its own."
    for each in questions:
        labels = [option.label for option in each.options]
        if len(set(labels)) < len(labels):
            return f"The options of {each.id} must differ."
        if each.recommended is not None and each.recommended_label is None:
            return f"The recommended option of {each.id} does not exist: count from 0."
    return ""


def title_of(question: AskQuestion, place: int, count: int) -> str:
    """Return the title of the dialog."""
    header = one_line(question.header)
    if count > 1:
        header = f"{header} ({place} of {count})" if header else f"Question {place} of {count}"
    text = question.question.strip()
    return f"{header}: {text}" if header else text


def options_of(question: AskQuestion) -> list[Option]:
    """Return the rows of the dialog; the last one lets the user write."""
    rows = []
    for place, option in enumerate(question.options):
        description = one_line(option.description)
        if place == question.recommended:
            description = f"{RECOMMENDED}: {description}" if description else RECOMMENDED
        rows.append(Option(label=option.label, description=description, preview=option.preview))
    return [*rows, Option(label=other_label(question), description="write an answer")]


def other_label(question: AskQuestion) -> str:
    """Return the label of the last row; an option of the model may have the usual one."""
    return OTHER if all(each.label != OTHER for each in question.options) else f"{OTHER} (write)"


def summary(answers: Sequence[AskAnswer]) -> str:
    """Return the answers for the model."""
    return "\n".join(f"{each.id}: {_answer_text(each)}" for each in answers)


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
    """Return the time limit of a dialog; 0 and less mean none."""
    if timeout <= 0:
        return None
    return timeout / 1000 if timeout > LEGACY_MILLISECONDS else timeout
