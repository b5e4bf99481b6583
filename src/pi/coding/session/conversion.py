"""Messages of a session → messages that models understand, one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.base.records import UNSET, replace
from pi.coding.session.messages import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    OwnMessage,
    SessionMessage,
)

COMPACTION_SUMMARY_PREFIX = (
    "The conversation up to this point has become too long to show. This is a summary of it:"
)
"""Told to the model before the summary of a compaction; never stored."""
BRANCH_SUMMARY_PREFIX = (
    "The conversation took another course for a while and then came back to this point. "
    "This is a summary of what happened there:"
)
"""Told to the model before the summary of a branch; never stored."""


UNREADABLE_IMAGE = Text(text="(image omitted: its data cannot be read)")
"""Told to the model in the place of what providers would refuse, on every turn."""

_BASE64 = r"[A-Za-z0-9+/=\s]+"
_LOOKED_AT = 64
"""Characters of a picture: a reference to a lost blob, or no picture at all, shows at once."""


def convert_to_llm(messages: Iterable[SessionMessage]) -> list[Message]:
    """What models are asked with. What it makes of two parts is what it makes of the whole."""
    converted = (_converted(message) for message in messages)
    return [message for message in converted if message is not None]


def _converted(message: SessionMessage) -> Message | None:
    match message:
        case (
            BashExecution(exclude_from_context=True)
            | AssistantMessage(stop_reason="error" | "aborted")
        ):
            return None
        case SystemMessage() | AssistantMessage():
            return message
        case UserMessage() | ToolResultMessage():
            return _with_readable_images(message)
        case _:
            said = UserMessage(content=_content(message), timestamp=message.timestamp)
            return _with_readable_images(said)


def _with_readable_images(message: UserMessage | ToolResultMessage) -> Message:
    content = message.content
    if isinstance(content, str) or all(map(_is_readable, content)):
        return message
    readable = (block if _is_readable(block) else UNREADABLE_IMAGE for block in content)
    return replace(message, content=tuple(readable))


def _is_readable(block: Text | Image) -> bool:
    return isinstance(block, Text) or re.fullmatch(_BASE64, block.data[:_LOOKED_AT]) is not None


def _content(message: OwnMessage) -> str | tuple[Text | Image, ...]:
    match message:
        case BashExecution():
            return blocks(bash_text(message))
        case CustomMessage():
            return message.content
        case BranchSummaryMessage(summary=summary):
            return blocks(f"{BRANCH_SUMMARY_PREFIX}\n\n<summary>\n{summary}</summary>")
        case CompactionSummaryMessage(summary=summary, content=content):
            if content is not UNSET:
                return content
            return blocks(f"{COMPACTION_SUMMARY_PREFIX}\n\n<summary>\n{summary}\n</summary>")


def bash_text(run: BashExecution) -> str:
    """A command of the person's and what came of it, in words."""
    output = f"```\n{run.output}\n```" if run.output else "(no output)"
    text = f"Ran `{run.command}`\n{output}"
    if run.exit_code is not UNSET and run.exit_code != 0:
        text += f"\n\nCommand exited with code {run.exit_code}"
    if run.cancelled:
        text += "\n\n(command cancelled)"
    if run.truncated and run.full_output_path is not UNSET:
        text += f"\n\n[Output truncated. Full output: {run.full_output_path}]"
    return text
