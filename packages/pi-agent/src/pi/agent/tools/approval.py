"""The approval that a tool declares: what a call may do. Permission guards use it. Pure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

from pi.ai.messages import Json
from pi.base.records import Record, replace

log = logging.getLogger(__name__)

ToolTier: TypeAlias = Literal["read", "write", "exec"]
"""``read`` changes nothing, ``write`` changes files of the project, ``exec`` may do anything."""


class ToolApproval(Record):
    """What one call may do, and what the user should see before it runs."""

    tier: ToolTier = "exec"
    reason: str = ""
    """Why the call needs attention, for the user."""
    must_ask: bool = False
    """Whether the user has to be asked even where calls of the tier are allowed."""
    details: tuple[str, ...] = ()
    """Lines that describe the call to the user."""


Approval: TypeAlias = ToolTier | ToolApproval | Callable[[Json], "ToolTier | ToolApproval"]
"""The approval of a tool: fixed, or a function of the arguments."""
FormatApprovalDetails: TypeAlias = Callable[[Json], "str | Sequence[str] | None"]
"""Returns the lines that describe a call to the user."""


def approval_of(
    tool: str,
    approval: Approval | None,
    format_details: FormatApprovalDetails | None,
    arguments: Json,
) -> ToolApproval:
    """The approval of a call; tier ``exec`` if the tool declares none or its function fails."""
    tool_approval = _declared(tool, approval, arguments)
    if format_details is None:
        return tool_approval
    try:
        lines = format_details(arguments)
        formatted = (lines,) if isinstance(lines, str) else tuple(map(str, lines or ()))
    except Exception:  # code of an extension; the guard still has to decide
        log.exception("the approval details of %s could not be formatted", tool)
        return tool_approval
    return replace(tool_approval, details=tool_approval.details + formatted)


def _declared(tool: str, approval: Approval | None, arguments: Json) -> ToolApproval:
    try:
        declared = approval(arguments) if callable(approval) else approval
        if declared is None:
            return ToolApproval()
        if isinstance(declared, ToolApproval):
            return declared
        if declared not in get_args(ToolTier):
            raise ValueError(f"{declared!r} is not one of {', '.join(get_args(ToolTier))}")
        return ToolApproval(tier=declared)
    except Exception as error:  # code of an extension: what is unknown must not be allowed
        log.exception("the approval of %s could not be determined", tool)
        why = str(error) or type(error).__name__
        reason = f"What this call may do could not be determined: {why}"
        return ToolApproval(reason=reason, must_ask=True)
