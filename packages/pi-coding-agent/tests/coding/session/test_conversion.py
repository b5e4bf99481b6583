from __future__ import annotations

import pytest

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    ToolResultMessage,
    UserMessage,
)
from pi.coding.session.context import (
    BRANCH_SUMMARY_PREFIX,
    COMPACTION_SUMMARY_PREFIX,
    UNREADABLE_IMAGE,
    bash_text,
    convert_to_llm,
)
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SessionMessage,
)

PICTURE = Image(data="aGk=", mime_type="image/png")


def user_message(text: str) -> UserMessage:
    return UserMessage(content=(Text(text=text),), timestamp=7)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (BashExecution(command="ls", output="a\n", exit_code=0), "Ran `ls`\n```\na\n\n```"),
        (BashExecution(command="ls", output=""), "Ran `ls`\n(no output)"),
        (
            BashExecution(command="ls", output="", exit_code=3),
            "Ran `ls`\n(no output)\n\nCommand exited with code 3",
        ),
        (
            BashExecution(
                command="ls", output="", cancelled=True, truncated=True, full_output_path="/f"
            ),
            "Ran `ls`\n(no output)\n\n(command cancelled)\n\n[Output truncated. Full output: /f]",
        ),
    ],
)
def test_a_command_is_converted_with_its_output(run: BashExecution, text: str) -> None:
    assert bash_text(run) == text


@pytest.mark.behaviour("image-limits-on-final-bytes")
@pytest.mark.parametrize("data", ["", "blob:sha256:0a", "data:image/png;base64,aGk=", "<png>"])
def test_an_image_with_invalid_data_becomes_a_note(data: str) -> None:
    lost = Image(data=data, mime_type="image/png")
    messages: list[SessionMessage] = [
        UserMessage(content=(Text(text="look"), lost, PICTURE)),
        ToolResultMessage(tool_call_id="1", tool_name="read", content=(lost,)),
        CustomMessage(custom_type="x", content=(lost,)),
    ]

    assert [message.content for message in convert_to_llm(messages)] == [
        (Text(text="look"), UNREADABLE_IMAGE, PICTURE),
        (UNREADABLE_IMAGE,),
        (UNREADABLE_IMAGE,),
    ]


def test_every_session_message_is_converted_for_models_or_left_out() -> None:
    plain: list[Message] = [
        SystemMessage(content="be kind"),
        UserMessage(content="hi"),
        AssistantMessage(content=(Text(text="yo"),)),
        ToolResultMessage(tool_call_id="1", tool_name="t", content=()),
    ]
    dropped: list[SessionMessage] = [
        AssistantMessage(stop_reason="error"),
        AssistantMessage(stop_reason="aborted"),
        BashExecution(command="ls", output="", exclude_from_context=True),
    ]
    own: list[SessionMessage] = [
        BashExecution(command="ls", output="", timestamp=7),
        CustomMessage(custom_type="c", content=(PICTURE,), timestamp=7),
        BranchSummaryMessage(summary="B", from_id="x", timestamp=7),
        CompactionSummaryMessage(summary="C", tokens_before=9, timestamp=7),
        CompactionSummaryMessage(summary="C", tokens_before=9, content=(PICTURE,), timestamp=7),
    ]

    assert convert_to_llm([*plain, *dropped, *own]) == [
        *plain,
        user_message("Ran `ls`\n(no output)"),
        UserMessage(content=(PICTURE,), timestamp=7),
        user_message(f"{BRANCH_SUMMARY_PREFIX}\n\n<summary>\nB</summary>"),
        user_message(f"{COMPACTION_SUMMARY_PREFIX}\n\n<summary>\nC\n</summary>"),
        UserMessage(content=(PICTURE,), timestamp=7),
    ]
