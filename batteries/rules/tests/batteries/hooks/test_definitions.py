"""Definitions of hooks, their matchers, and the inputs and responses of their programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import ToolCall
from pi.batteries.hooks.definitions import HookDefinition, folder_hook, matches, parse_settings
from pi.batteries.hooks.outcomes import Outcome, from_text, from_verdict, merge_outcomes
from pi.batteries.hooks.script_files import HookPlaces, missing_script, project_files
from pi.coding.claude_tools import claude_call, claude_names, pi_arguments, pi_call

FILE = Path("/p/.claude/settings.json")


def hook(matcher: str = "", event: str = "PreToolUse", **options: Any) -> HookDefinition:
    return HookDefinition(event=event, type="command", matcher=matcher, options=options)


def test_all_types_are_parsed_and_invalid_hooks_are_reported_with_their_path() -> None:
    groups = [
        {"matcher": "Bash", "hooks": [{"command": "a"}, {"type": "http", "url": "u"}]},
        {"hooks": [{"type": "mcp_tool", "server": "s"}, {"type": "magic"}, "x"]},
        {"matcher": "(", "hooks": []},
        "x",
    ]
    text = json.dumps({"hooks": {"PreToolUse": groups, "Never": [], "Stop": {}}})

    file = parse_settings(text, FILE)

    assert [(hook.type, hook.matcher) for hook in file.hooks] == [
        ("command", "Bash"),
        ("http", "Bash"),
    ]
    problems = [message.removeprefix(f"{FILE}: ") for message in file.problems]
    assert problems == [
        "hooks.PreToolUse[1].hooks[0] needs tool, a text.",
        "hooks.PreToolUse[1].hooks[1] has the unknown type 'magic':"
        " use one of command, http, prompt, agent, mcp_tool.",
        "hooks.PreToolUse[1].hooks[2] must be an object.",
        "hooks.PreToolUse[2].matcher is not a valid pattern.",
        "hooks.PreToolUse[3] must be an object with an array of hooks.",
        "hooks.Never is not used: pi has no such event.",
        "hooks.Stop must be an array.",
    ]


def test_a_broken_file_is_one_problem_with_its_path() -> None:
    [message] = parse_settings("{", FILE).problems
    assert message.startswith(str(FILE))
    assert parse_settings('{"hooks": true, "disableAllHooks": true}', FILE).disabled
    yaml = "hooks:\n  Stop:\n    - hooks: [{type: command, command: x}]\n"
    assert len(parse_settings(yaml, Path("/p/config.yml")).hooks) == 1


@pytest.mark.parametrize(
    ("matcher", "tool", "expected"),
    [
        ("", "bash", True),
        ("*", "bash", True),
        ("Bash", "bash", True),
        ("bash", "bash", True),
        ("Ba", "bash", False),
        ("Edit|Write", "edit", True),
        ("Edit, Write", "write", True),
        ("MultiEdit", "edit", True),
        ("Edit|Write", "read", False),
        (".*Edit", "edit", True),
        ("mcp__memory__.*", "mcp__memory_create_entity", True),
        ("mcp__memory__create_entity", "mcp__memory_create_entity", True),
        ("mcp__other__.*", "mcp__memory_create", False),
    ],
)
def test_matchers_are_matched_against_the_claude_code_names_of_tools(
    matcher: str, tool: str, *, expected: bool
) -> None:
    assert matches(hook(matcher), claude_names(tool)) is expected


def test_a_rule_narrows_a_hook() -> None:
    git = hook("Bash", **{"if": "Bash(git push:*)"})
    assert matches(git, claude_names("bash"), ("git push origin",))
    assert not matches(git, claude_names("bash"), ("git status",))
    typescript = hook("Edit", **{"if": "Edit(*.ts)"})
    assert matches(typescript, claude_names("edit"), ("src/a.ts",))
    assert not matches(typescript, claude_names("edit"), ("src/a.py",))


def test_files_in_hook_folders_apply_to_the_tool_in_their_name(tmp_path: Path) -> None:
    [parsed] = folder_hook(tmp_path / "pre/edit.format.py", executable=False).hooks
    assert (parsed.event, parsed.matcher) == ("PreToolUse", "edit")
    assert parsed.options["command"] == "python3"
    [parsed] = folder_hook(tmp_path / "post/all", executable=True).hooks
    assert (parsed.event, parsed.matcher) == ("PostToolUse", "")
    [message] = folder_hook(tmp_path / "pre/bash.txt", executable=False).problems
    assert "is not executable" in message
    assert folder_hook(tmp_path / "pre/.gitkeep", executable=False).hooks == ()


def test_the_strictest_decision_is_used() -> None:
    outcome = merge_outcomes(
        [
            Outcome(permission="allow", reason="fine", context=("a",)),
            Outcome(permission="deny", blocks=True, reason="no"),
            Outcome(permission="ask", reason="sure?", context=("b",)),
        ]
    )
    assert (outcome.permission, outcome.blocks, outcome.reason) == ("deny", True, "no")
    assert outcome.context == ("a", "b")


def test_plain_text_is_context_for_some_events_only() -> None:
    assert from_text(hook(event="SessionStart"), "hello").context == ("hello",)
    assert from_text(hook(event="PostToolUse"), "hello") == Outcome()
    [long] = from_text(hook(event="SessionStart"), "x" * 20_000).context
    assert long.endswith("[10000 more characters of the hook left out]")


def test_the_old_response_format_is_supported() -> None:
    assert from_text(hook(), '{"decision": "approve"}').permission == "allow"
    blocked = from_text(hook(), '{"decision": "block", "reason": "x"}')
    assert (blocked.blocks, blocked.reason) == (True, "x")


def test_an_answer_without_a_verdict_is_a_failure() -> None:
    assert "without a verdict" in from_verdict(hook(), "I think so").failure
    assert from_verdict(hook(), '{"ok": true}') == Outcome()


def test_tool_calls_are_translated_to_and_from_claude_code() -> None:
    cwd = Path("/p")
    edit = ToolCall(
        id="1", name="edit", arguments={"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}
    )
    theirs = claude_call(edit, cwd)
    assert theirs.name == "Edit"
    assert theirs.input == {"file_path": "/p/a", "old_string": "x", "new_string": "y"}
    assert pi_arguments("edit", theirs.input) == {**edit.arguments, "path": "/p/a"}
    many = {"path": "a", "edits": [{"oldText": "x", "newText": "y"}] * 2}
    assert claude_call(ToolCall(id="1", name="edit", arguments=many), cwd).name == "MultiEdit"
    bash = ToolCall(id="1", name="bash", arguments={"command": "ls", "timeout": 2})
    assert claude_call(bash, cwd).input == {"command": "ls", "timeout": 2000}
    assert pi_call("Bash", {"command": "ls", "timeout": 2000}) == ("bash", bash.arguments)
    assert pi_call("TodoWrite", {"todos": []}) == ("TodoWrite", {"todos": []})


def test_files_of_the_project_in_a_command_are_found(tmp_path: Path) -> None:
    project, home = tmp_path / "p", tmp_path / "h"
    for path in (project / "a.sh", project / "b c.py", home / "mine.sh"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (project / "link.sh").symlink_to(home / "mine.sh")
    hook_places = HookPlaces(project=project, home=home)

    def project_names(command: str) -> list[str]:
        return [path.name for path in project_files(hook(command=command), hook_places)]

    assert project_names(
        '"$CLAUDE_PROJECT_DIR"/a.sh && X=1 python3 ${CLAUDE_PROJECT_DIR}/"b c.py"'
    ) == [
        "a.sh",
        "b c.py",
    ]
    assert project_names("./a.sh; ~/mine.sh --config=a.sh") == ["a.sh"]
    assert project_names("sh link.sh") == ["link.sh"]
    assert project_names("~/mine.sh | cat") == []
    assert project_names("echo 'open quote a.sh") == ["a.sh"]


@pytest.mark.parametrize(
    ("command", "is_missing"),
    [
        ("python3 gone.py", True),
        ("X=1 python3 -u ./gone.py --flag", True),
        ("./gone.sh", True),
        ("bash -c 'exit 2'", False),
        ("python3 -m gone", False),
        ("[ -x ./gone.sh ] && ./gone.sh", False),
        ("$SOMEWHERE/gone.sh", False),
        ("node gone", False),
        ("echo gone.py", False),
    ],
)
def test_a_missing_script_is_noticed(tmp_path: Path, command: str, *, is_missing: bool) -> None:
    hook_places = HookPlaces(project=tmp_path, home=tmp_path)
    assert (missing_script(hook(command=command), hook_places) is not None) is is_missing
