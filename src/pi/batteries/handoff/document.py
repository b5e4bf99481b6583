"""The prompt for a hand-off document, and the document in an answer. Pure."""

from __future__ import annotations

from pi.extension import AssistantMessage, Request, UserMessage, replace

PROMPT = """\
Stop here and write a hand-off document: another session takes over this work and will see nothing \
of this conversation but your document. Write Markdown with these sections, and "none" where there \
is nothing to say: Goal; Instructions and constraints (the user's own words where they matter); \
State (done, in progress, blocked and why); Decisions and their reasons; Files (paths, and what \
matters about each); Next steps in order, beginning with the very next action; Facts that are hard \
to find again. Be exact with names, paths, commands and numbers, and brief with everything else. \
Call no tools. Reply with the document alone."""
FOCUS = "The user wants the next session to concentrate on this: {}"
LEAST_MESSAGES = 2
"""Messages below which there is nothing to hand off."""
LEAST_CHARACTERS = 40
"""A shorter answer is a refusal or a remark, not a document."""
LEAD = "This session continues an earlier one. Its hand-off document:"


def request_for(request: Request, focus: str, *, tool_choice: str, now_ms: int) -> Request:
    """Return the request: the live conversation, which is cached, and one message more."""
    text = "\n\n".join((PROMPT, *((FOCUS.format(focus.strip()),) if focus.strip() else ())))
    asked = UserMessage(content=text, timestamp=now_ms)
    messages = (*request.messages, asked)
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
    """Return why an answer holds no document."""
    if answer.stop_reason in ("error", "aborted"):
        return str(answer.error_message or "the request failed")
    return "the model wrote no document"
