"""Draws questions and answers in the transcript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi.extension import Theme, ToolView, ViewOptions, one_line


def ask(call: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """Questions and their answers. The first row is drawn after the name of the tool."""
    details = call.details if isinstance(call.details, dict) else {}
    answers = {
        str(detail.get("id")): detail
        for detail in details.get("answers", ())
        if isinstance(detail, dict)
    }
    questions = call.arguments.get("questions")
    listed = [question for question in questions if isinstance(question, dict)] if questions else []
    if call.state == "failed":
        return [theme.fg("error", one_line(call.text))]
    rows = []
    for question in listed:
        text = one_line(str(question.get("question", "…")))
        rows.append(theme.fg("accent", text))
        if (answer := answers.get(str(question.get("id")))) is not None:
            rows.append(f"  {_answer_text(answer, theme)}")
        elif details.get("dismissed") == question.get("id"):
            rows.append(f"  {theme.fg('muted', 'not answered')}")
    return rows or [theme.fg("muted", "…")]


def _answer_text(answer: Mapping[str, Any], theme: Theme) -> str:
    selected = answer.get("selected")
    parts = [one_line(str(choice)) for choice in selected] if isinstance(selected, list) else []
    if other := answer.get("other"):
        parts.append(f"“{one_line(str(other))}”")
    text = theme.fg("success", ", ".join(parts) or "none")
    return text + theme.fg("muted", " (no answer in time)") if answer.get("timedOut") else text
