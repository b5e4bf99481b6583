from __future__ import annotations

from pi.agent.conversation import instruction_changes, prompt_text
from pi.ai.messages import SystemMessage, Tool
from pi.ai.transcript import final_tools, render

PEEK = Tool(name="peek", description="Look.", parameters={"type": "object"})
POKE = Tool(name="poke", description="Touch.", parameters={"type": "object"})


def test_prompt_and_tools_are_declared_once() -> None:
    first = instruction_changes((), "Be brief.", (PEEK,), now_ms=5)

    assert first == (
        SystemMessage(
            content="", sections={"preamble": "Be brief."}, tools_added=(PEEK,), timestamp=5
        ),
    )
    assert instruction_changes(first, "Be brief.", (PEEK,), now_ms=6) == ()


def test_without_prompt_and_tools_nothing_is_declared() -> None:
    assert instruction_changes((), "", (), now_ms=5) == ()


def test_only_changes_of_prompt_and_tools_are_declared() -> None:
    declared = instruction_changes((), "Be brief.", (PEEK,), now_ms=5)

    assert instruction_changes(declared, "Be brief.", (PEEK, POKE), now_ms=6) == (
        SystemMessage(content="", tools_added=(POKE,), timestamp=6),
    )
    assert instruction_changes(declared, "Be kind.", (), now_ms=6) == (
        SystemMessage(
            content="",
            sections={"preamble": "Be kind."},
            tools_removed=({"name": "peek"},),
            timestamp=6,
        ),
    )
    assert instruction_changes(declared, "", (PEEK,), now_ms=6) == (
        SystemMessage(content="", sections={"preamble": None}, timestamp=6),
    )


def test_a_tool_with_a_new_description_is_declared_again() -> None:
    other = Tool(name="peek", description="Look closely.", parameters={"type": "object"})
    declared = instruction_changes((), "", (PEEK, POKE), now_ms=5)

    declared += instruction_changes(declared, "", (other, POKE), now_ms=6)

    assert final_tools(declared) == (other, POKE)


def test_system_messages_of_the_host_are_kept_beside_the_prompt() -> None:
    rules = SystemMessage(content="House rules.", sections={"rules": "No running."})

    declared = (rules, *instruction_changes((rules,), "Be brief.", (), now_ms=5))

    assert render(declared) == "House rules.\n\nNo running.\n\nBe brief."
    assert instruction_changes(declared, "Be brief.", (), now_ms=6) == ()


def test_tools_can_change_without_the_prompt() -> None:
    declared = instruction_changes((), "Be brief.", (PEEK,), now_ms=5)

    assert instruction_changes(declared, None, (POKE,), now_ms=6) == (
        SystemMessage(
            content="", tools_added=(POKE,), tools_removed=({"name": "peek"},), timestamp=6
        ),
    )


def test_only_changed_sections_of_the_prompt_are_declared() -> None:
    declared = instruction_changes((), {"preamble": "Be brief.", "cwd": "/a"}, (), now_ms=5)
    assert declared[0].sections == {"preamble": "Be brief.", "cwd": "/a"}

    (patch,) = instruction_changes(
        declared, {"preamble": "Be brief.", "skills": "Sing."}, (), now_ms=6
    )

    assert patch.sections == {"skills": "Sing.", "cwd": None}
    assert (
        instruction_changes(
            (*declared, patch), {"preamble": "Be brief.", "skills": "Sing."}, (), now_ms=7
        )
        == ()
    )
    assert prompt_text({"a": "x", "b": "y"}) == "x\n\ny"
