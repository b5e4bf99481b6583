from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from pi.base.errors import PiError
from pi.modes.rpc.commands import COMMANDS, LONG
from pi.modes.rpc.protocol import Request
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture

DOCUMENTED = {
    *("prompt", "steer", "follow_up", "abort", "clear_queue", "new_session", "get_state"),
    *("get_messages", "set_model", "cycle_model", "get_available_models", "set_thinking_level"),
    *("cycle_thinking_level", "get_available_thinking_levels", "set_steering_mode"),
    *("set_follow_up_mode", "compact", "set_auto_compaction", "set_auto_retry", "abort_retry"),
    *("bash", "abort_bash", "get_session_stats", "export_html", "switch_session", "fork", "clone"),
    *("get_fork_messages", "get_entries", "get_tree", "get_last_assistant_text"),
    *("set_session_name", "get_commands"),
}
"""Commands of the original."""
ADDED = {
    *("abort_and_prompt", "branch", "get_branch_messages", "preview_compaction"),
    *("set_interrupt_mode", "get_extensions", "set_extension"),
}
"""Commands that the original does not have; ``docs/compatibility.md`` names them."""


async def carried_out(fixture: SessionFixture, *commands: tuple[str, dict[str, Any]]) -> list[Any]:
    """The results of commands that are run one after another."""
    session = await fixture.open()
    results = [
        await COMMANDS[name](session, Request(command=name, fields=fields))
        for name, fields in commands
    ]
    await session.close()
    return [value if value is UNSET else msgspec.to_builtins(value) for value in results]


def test_the_commands_are_exactly_the_documented_ones() -> None:
    answered_by_the_server = {"prompt", "abort_and_prompt", "bash"}

    assert COMMANDS.keys() | answered_by_the_server == DOCUMENTED | ADDED
    assert not LONG - DOCUMENTED - ADDED


async def test_queued_messages_can_be_cleared(tmp_path: Path) -> None:
    commands = [
        ("steer", {"message": "a"}),
        ("follow_up", {"message": "b"}),
        ("clear_queue", {}),
    ]

    assert await carried_out(SessionFixture(tmp_path), *commands) == [
        {"disposition": "queued"},
        {"disposition": "queued"},
        {"steering": ("a",), "followUp": ("b",)},
    ]


@pytest.mark.parametrize(
    ("command", "fields", "message"),
    [
        ("set_model", {}, 'Command "set_model": field "provider" is missing'),
        ("set_model", {"provider": "x"}, 'Command "set_model": field "modelId" is missing'),
        ("set_model", {"provider": "x", "modelId": "y"}, "Model not found: x/y"),
        (
            "set_interrupt_mode",
            {"mode": "never"},
            'Command "set_interrupt_mode": field "mode" must be "wait" or "immediate"',
        ),
    ],
)
async def test_an_error_names_the_field_or_the_value(
    command: str, fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    with pytest.raises(PiError) as raised:
        await COMMANDS[command](session, Request(command=command, fields=fields))

    assert raised.value.message == message
    await session.close()


async def test_before_the_first_answer_there_is_no_text(tmp_path: Path) -> None:
    assert await carried_out(SessionFixture(tmp_path), ("get_last_assistant_text", {})) == [{}]


async def test_branch_moves_the_leaf_within_the_same_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"), says("two"))
    session = await fixture.open()
    for prompt in ("first", "second"):
        await session.prompts.prompt(prompt)
    file = session.entries.log.file
    first, second = session.info.fork_points()
    moved = await COMMANDS["branch"](
        session, Request(command="branch", fields={"entryId": second.entry_id})
    )
    points = await COMMANDS["get_branch_messages"](
        session, Request(command="get_branch_messages", fields={})
    )

    assert msgspec.to_builtins(moved)["text"] == "second"
    assert (points, session.entries.log.file) == ({"messages": [first, second]}, file)
    await session.close()


async def test_the_interrupt_mode_is_set_for_the_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    request = Request(command="set_interrupt_mode", fields={"mode": "immediate"})

    before = session.settings.values.interrupt_mode
    assert await COMMANDS["set_interrupt_mode"](session, request) is UNSET
    assert (before, session.settings.values.interrupt_mode) == ("wait", "immediate")
    await session.close()


async def test_entries_after_a_given_entry_are_returned(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    [first, second] = [msgspec.json.decode(raw)["id"] for raw in session.info.entries()]
    request = Request(command="get_entries", fields={"since": first})
    result = await COMMANDS["get_entries"](session, request)

    assert [msgspec.json.decode(raw)["id"] for raw in result["entries"]] == [second]
    assert result["leafId"] == second
    await session.close()
