"""Tools of MCP servers have one name, and everything that a user writes about them matches it."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from scripts.workspace import ROOT, find_test
from tests.journeys.model_server import Answer
from tests.journeys.program import Journey

SERVER = find_test(ROOT, "batteries/mcp/server_program.py")
ECHO = ("mcp__my-notes__echo", {"text": "hello"})


def use_server(journey: Journey, *faults: str, name: str = "my-notes") -> None:
    definition = {"command": sys.executable, "args": ["-I", str(SERVER), "modern", *faults]}
    journey.home.write("mcp.json", json.dumps({"mcpServers": {name: definition}}))


def test_what_the_dialog_stores_matches_the_next_time(journey: Journey) -> None:
    use_server(journey)
    journey.home.use_settings(permissions={"mode": "ask"})
    titles = []
    for answer in ("Always allow in this project", "Deny"):
        journey.model.script(Answer(calls=(ECHO,)))
        journey.model.says("done")
        with journey.rpc() as client:
            client.answers["select"] = {"value": answer}
            client.prompts("go")
            requests = client.events("extension_ui_request")
            titles.append([each["title"] for each in requests if each["method"] == "select"])
        assert "You said hello" in journey.model.results_of()[0]

    ((title,), later) = titles
    assert "echo of the MCP server my-notes" in title
    assert later == []


@pytest.mark.parametrize(
    "rule",
    [
        "mcp__my-notes",
        "mcp__my_notes",
        "mcp__my_notes__*",
        "mcp__my-notes__echo",
        "mcp__my_notes__echo",
        "mcp__my-notes_echo",
        "mcp__*",
        "MCP__My-Notes",
    ],
)
def test_every_form_of_a_deny_rule_matches(journey: Journey, rule: str) -> None:
    use_server(journey)
    journey.home.use_settings(
        permissions={"mode": "ask", "deny": [rule], "allow": ["mcp__my-notes"]}
    )
    journey.model.script(Answer(calls=(ECHO,)))

    journey.pi("-p", "go")

    assert f"The deny rule {rule} " in journey.model.results_of()[0]


@pytest.mark.parametrize("option", ["--tools", "--exclude-tools"])
@pytest.mark.parametrize("written", ["mcp__my_notes", "mcp__my-notes__*", "mcp__my-notes_echo"])
def test_options_about_tools_match(journey: Journey, option: str, written: str) -> None:
    use_server(journey)

    journey.pi(option, written, "-p", "go")

    assert ("mcp__my-notes__echo" in journey.model.tools_of()) is (option == "--tools")


def test_a_hook_for_a_server_runs(journey: Journey) -> None:
    use_server(journey)
    matchers = ("mcp__my-notes__.*", "mcp__my-notes_echo", "mcp__my_notes", "mcp__my_notes__*")
    for matcher in matchers:
        hook = {"type": "command", "command": "echo stopped by the hook >&2; exit 2"}
        journey.home.use_settings(hooks={"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]})
        journey.model.script(Answer(calls=(ECHO,)))

        journey.pi("-p", "go")

        assert "stopped by the hook" in journey.model.results_of()[0], matcher


def test_a_server_of_mcp_reads_no_denied_file_that_its_arguments_name(journey: Journey) -> None:
    use_server(journey)
    (journey.home.cwd / ".env").write_text("KEY=1\n")
    journey.home.use_settings(
        permissions={"mode": "ask", "deny": ["Read(.env)"], "allow": ["mcp__my-notes"]}
    )
    texts: list[dict[str, Any]] = [
        {"path": ".env"},
        {"filePath": "./x/../.env"},
        {"uri": f"file://{journey.home.cwd}/%2eenv"},
        {"paths": ["a.txt", "%2eenv"]},
        {"text": ".env"},
        {"text": f"file://{journey.home.cwd}/.env"},
        {"options": {"nested": {"target": ".ENV"}}},
    ]
    journey.model.script(Answer(calls=tuple((ECHO[0], each) for each in (*texts, ECHO[1]))))

    journey.pi("-p", "go")

    *refused, echoed = journey.model.results_of()
    assert all("Read(.env)" in text for text in refused), refused
    assert "You said hello" in echoed


LONG = "erase_" * 15


@pytest.mark.parametrize(
    ("server", "rule", "tool"),
    [
        ("s", "mcp__s__do_it", "mcp__s__do-it"),
        ("s", "mcp__s__do_it", "mcp__s__do_it_2"),  # the server has chosen which one it is
        ("my.notes", "mcp__my.notes", "mcp__my_notes__echo"),
        ("my.notes", "mcp__my.notes__do.it", "mcp__my_notes__do-it"),
        ("a__b", "mcp__a__b", "mcp__a_b__echo"),
        ("s", f"mcp__s__{LONG}", "the long one"),
    ],
)
def test_a_deny_rule_means_the_names_of_the_configuration_and_of_the_server(
    journey: Journey, server: str, rule: str, tool: str
) -> None:
    use_server(journey, "tool=do-it", "tool=do_it", f"tool={LONG}", name=server)
    journey.home.use_settings(permissions={"deny": [rule]})
    if tool == "the long one":
        journey.pi("-p", "which tools are there?")
        tool = next(name for name in journey.model.tools_of() if "__erase_" in name)
    journey.model.script(Answer(calls=((tool, {}),)))

    journey.pi("-p", "go")

    assert f"The deny rule {rule} " in journey.model.results_of()[0]


def test_an_allow_rule_means_one_tool_only(journey: Journey) -> None:
    use_server(journey, "tool=echo_2", "tool=do-it", "tool=do_it")
    journey.home.use_settings(permissions={"mode": "ask", "allow": ["mcp__my-notes__do-it"]})
    names = ("mcp__my-notes__do_it_2", "mcp__my-notes__echo_2", "mcp__my-notes__echo")
    journey.model.script(Answer(calls=tuple((name, {}) for name in names)))

    journey.pi("-p", "go")

    assert all("needs the consent" in text for text in journey.model.results_of())
