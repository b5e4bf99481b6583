"""Lists of tools: changes with ``+`` and ``-``, patterns, and the tools of a resumed session."""

from __future__ import annotations

import json

from tests.journeys.program import Journey

USUAL = ["read", "bash", "edit", "write"]


def tools_after(journey: Journey, *arguments: str) -> list[str]:
    ended = journey.pi("-p", "hi", *arguments)
    assert ended.code == 0, ended.err
    return journey.model.tools_of()


def test_signs_in_the_setting_change_the_list_below(journey: Journey) -> None:
    journey.home.use_settings(defaultTools=["+grep", "-write"])
    assert tools_after(journey) == ["read", "bash", "edit", "grep"]
    journey.home.write_work(".pi/settings.json", json.dumps({"defaultTools": ["-bash", "+ls"]}))
    assert tools_after(journey, "--approve") == ["read", "edit", "grep", "ls"]
    journey.home.write_work(".pi/settings.json", json.dumps({"defaultTools": ["read", "+find"]}))
    assert tools_after(journey, "--approve") == ["read", "find"]
    journey.home.use_settings(defaultTools=["-read", "find", "read", "+ls"])
    assert tools_after(journey, "--no-approve") == ["find", "ls"]


def test_options_change_the_defaults(journey: Journey) -> None:
    assert tools_after(journey, "--tools", "+grep,-bash") == ["read", "edit", "write", "grep"]
    assert tools_after(journey, "--tools", "-bash,-write") == ["read", "edit"]
    mixed = journey.pi("-p", "hi", "--tools", "read,+grep")
    assert mixed.code == 1
    assert "do not mix" in mixed.err
    unknown = journey.pi("-p", "hi", "--tools", "+grpe")
    assert unknown.code == 1
    assert "there is no tool grpe" in unknown.err


def test_patterns_select_and_exclude(journey: Journey) -> None:
    assert tools_after(journey, "--tools", "*re*") == ["read", "grep"]
    assert tools_after(journey, "--exclude-tools", "*r*") == ["bash", "edit"]
    assert tools_after(journey, "--tools", "+*in*,-*a*") == ["edit", "write", "find"]


def test_a_list_that_leaves_nothing_says_so(journey: Journey) -> None:
    ended = journey.pi("-p", "hi", "--tools", "zzz*")
    assert "leave no tool that the model can use" in ended.err
    assert journey.model.tools_of() == []
    journey.home.use_settings(defaultTools=["-*"])
    assert "defaultTools leave no tool" in journey.pi("-p", "hi").err
    journey.home.use_settings(defaultTools=[])
    assert journey.pi("-p", "hi").err == ""
    assert journey.pi("-p", "hi", "--no-tools").err == ""


def test_a_resumed_session_keeps_its_tools(journey: Journey) -> None:
    assert tools_after(journey, "--tools", "read,grep") == ["read", "grep"]
    assert tools_after(journey, "-c") == ["read", "grep"]
    assert tools_after(journey, "-c", "--tools", "+ls") == ["read", "grep", "ls"]
    assert tools_after(journey, "-c") == ["read", "grep", "ls"]
    assert tools_after(journey, "-c", "--exclude-tools", "grep") == ["read", "ls"]
    assert tools_after(journey, "-c", "--tools", "bash") == ["bash"]
    assert tools_after(journey) == USUAL
    with journey.rpc() as client:
        client.prompts("hi")
        assert journey.model.tools_of() == USUAL
        first = list(journey.home.agent_dir.glob("sessions/*/*.jsonl"))
        client.request("switch_session", sessionPath=str(min(first)))
        client.prompts("hi")
        assert journey.model.tools_of() == ["bash"]
        client.request("new_session")
        client.prompts("hi")
        assert journey.model.tools_of() == USUAL


def test_tools_that_a_mode_withholds_come_back_in_a_resumed_session(journey: Journey) -> None:
    extension = journey.home.write_work(
        "limit.py", 'def extension(pi):\n    pi.limit_tools(["read"])\n'
    )
    assert tools_after(journey) == USUAL
    assert tools_after(journey, "-c", "-e", str(extension)) == ["read"]
    assert tools_after(journey, "-c") == USUAL


def test_a_reload_adds_new_default_tools_and_removes_none(journey: Journey) -> None:
    with journey.terminal() as user:
        user.submits("hi")
        user.sees("All is well.")
        journey.home.use_settings(defaultTools=["read", "grep"])
        user.submits("/reload")
        user.sees("Reloaded")
        user.submits("again")
        user.until(lambda: len(journey.model.requests) == 2)
        user.leaves()
    assert journey.model.tools_of() == [*USUAL, "grep"]
