"""Texts for the model. They are messages, not a prompt section, so that the cache stays valid."""

from __future__ import annotations

from pathlib import Path

MESSAGE = "plan-mode"
"""Custom type of the messages."""

DESCRIPTION = """\
Propose a plan to the user, in plan mode only. Call it when the plan is complete: the user \
approves it, or says what to change.
Pass the whole plan as Markdown in `plan`, or write it to the plan file first and leave `plan` out.
A good plan names the files to change and what changes in each, the order of the steps, how the \
result is checked, and what is left open. It needs no code that the steps can be derived from.
Do not ask "shall I go on?" in your answer: this tool asks."""

_ON = """\
<system-reminder>
Plan mode is on: the user wants a plan before anything is changed. This overrides other \
instructions.
- Read as much as you need: files, searches, commands that only read. Changes are prevented: file \
writes fail, commands run {commands}, tools that may change something are refused. Do not try to \
work around that.
- Ask the user about decisions that are theirs{ask}.
- The only file that you can write is the plan file: {file}
- {end}
</system-reminder>"""
_SANDBOXED = "without write access and without network"
_LISTED = "only if they are known to read, without redirections and substitutions"
_PROPOSE = "When the plan is complete, call propose_plan. Do not begin to carry it out yourself."
_NO_TOOL = "When the plan is complete, answer with it and stop: the user approves it."

OFF = """\
<system-reminder>
Plan mode is off: the user ended it without approving a plan. You can change files again.
</system-reminder>"""
APPROVED = "The user approved the plan. Plan mode is off: carry out the plan now, step by step."
UNDECIDED = (
    "The user closed the proposal without a decision. Plan mode stays on. Stop here, and wait for"
    " the user."
)
NO_USER = (
    "The plan is stored in {file}. No user can approve it here, so plan mode stays on. Answer with"
    " the complete plan, and stop."
)
MOVED = "The user approved the plan. It is carried out {how}: stop here."


def announcement(file: Path, *, sandbox: bool, can_ask: bool, can_propose: bool) -> str:
    """Return the message at the start of plan mode."""
    return _ON.format(
        commands=_SANDBOXED if sandbox else _LISTED,
        ask=" with the ask tool" if can_ask else "",
        file=file,
        end=_PROPOSE if can_propose else _NO_TOOL,
    )


def refined(feedback: str) -> str:
    """Return the result of a proposal that the user wants changed."""
    return (
        "The user did not approve the plan yet, and plan mode stays on. Change the plan as follows,"
        f" then propose it again:\n\n{feedback}"
    )


def order(plan: str, file: Path) -> str:
    """Return the prompt to carry out an approved plan."""
    return f"Carry out this plan, which I have approved. It is stored in {file}.\n\n{plan.strip()}"
