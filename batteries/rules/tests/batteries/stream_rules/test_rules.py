"""Which rules become stream rules, and with which scope and policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.batteries.stream_rules.adapter import bundled_rules
from pi.batteries.stream_rules.rules import RuleScope, ToolScope
from tests.batteries.stream_rules.stream import registered


def test_rules_without_a_condition_are_not_registered() -> None:
    assert registered({"description": "d"}, {"alwaysApply": True}).rules == ()


@pytest.mark.parametrize("field", ["condition", "ttsr_trigger", "ttsrTrigger"])
def test_the_older_names_of_a_condition_work(field: str) -> None:
    (rule,) = registered({field: "x"}).rules

    assert [condition.source for condition in rule.conditions] == ["x"]


def test_an_invalid_condition_is_reported_and_the_others_are_used() -> None:
    registered_rules = registered({"condition": ["(", "ok"]}, {"condition": "("})

    assert [(r.name, [c.source for c in r.conditions]) for r in registered_rules.rules] == [
        ("r0", ["ok"])
    ]
    assert len(registered_rules.warnings) == 2
    assert "/rules/r0.md" in registered_rules.warnings[0]


def test_a_rule_with_invalid_conditions_and_a_valid_tree_is_used() -> None:
    (rule,) = registered({"condition": "(", "astCondition": "f($X)"}).rules

    assert (rule.conditions, rule.ast) == ((), ("f($X)",))


@pytest.mark.parametrize(
    ("words", "scope"),
    [
        (None, RuleScope()),
        ("text", RuleScope(text=True, thinking=False, tools=())),
        ("thinking", RuleScope(text=False, thinking=True, tools=())),
        ("prose", RuleScope(text=True, thinking=True, tools=())),
        ("tool", RuleScope(text=False, thinking=False, tools=(ToolScope(),))),
        ("edit", RuleScope(text=False, thinking=False, tools=(ToolScope(name="edit"),))),
        ("tool:mcp_x", RuleScope(text=False, thinking=False, tools=(ToolScope(name="mcp_x"),))),
        (
            ["text", "tool:edit(*.ts|*.tsx)"],
            RuleScope(thinking=False, tools=(ToolScope(name="edit", globs=("*.ts", "*.tsx")),)),
        ),
    ],
)
def test_a_scope_selects_the_parts_of_a_response(words: Any, scope: RuleScope) -> None:
    front = {"condition": "x", **({} if words is None else {"scope": words})}

    (rule,) = registered(front).rules

    assert rule.scope == scope


@pytest.mark.parametrize(
    "front",
    [
        {"condition": "x", "scope": "user"},
        {"condition": "x", "scope": "text", "globs": "*.py"},
        {"astCondition": "f($X)", "scope": "text"},
    ],
)
def test_a_rule_that_can_never_match_is_reported_and_left_out(front: dict[str, Any]) -> None:
    registered_rules = registered(front)

    assert registered_rules.rules == ()
    assert "scope" in registered_rules.warnings[-1]


def test_disabled_rules_are_not_registered() -> None:
    fronts = ({"condition": "x"}, {"condition": "y"}, {"condition": "z", "enabled": False})

    registered_rules = registered(*fronts, disabled_rules=("r0",))

    assert [rule.name for rule in registered_rules.rules] == ["r1"]


def test_a_rule_overrides_the_settings_and_wrong_values_are_reported() -> None:
    own = {"interruptMode": "never", "repeatMode": "after-gap", "repeatGap": 3}
    wrong = {"interruptMode": "sometimes", "repeatGap": "x"}

    registered_rules = registered(
        {"condition": "a", **own}, {"condition": "b", **wrong}, {"condition": "c"}, repeat_gap=7
    )

    assert [(r.interrupt_mode, r.repeat_mode, r.repeat_gap) for r in registered_rules.rules] == [
        ("never", "after-gap", 3),
        ("always", "once", 7),
        ("always", "once", 7),
    ]
    assert len(registered_rules.warnings) == 2


@pytest.mark.parametrize(
    ("mode", "interrupting"),
    [
        ("always", {"text", "thinking", "tool"}),
        ("prose-only", {"text", "thinking"}),
        ("tool-only", {"tool"}),
        ("never", set()),
    ],
)
def test_the_interrupt_mode_decides_by_the_part_of_the_answer(
    mode: str, interrupting: set[str]
) -> None:
    (rule,) = registered({"condition": "x", "interruptMode": mode}).rules

    assert {
        source for source in ("text", "thinking", "tool") if rule.interrupts(source)
    } == interrupting


@pytest.mark.parametrize(
    ("front", "tool", "path", "concerned"),
    [
        ({}, "bash", "", True),
        ({"globs": "*.py"}, "write", "a/b.py", True),
        ({"globs": "*.py"}, "write", "a.js", False),
        ({"globs": "*.py"}, "bash", "", False),
        ({"scope": "tool:edit(src/**)"}, "edit", "src/a/b", True),
        ({"scope": "tool:edit(src/**)"}, "edit", "lib/a", False),
        ({"scope": "tool:edit"}, "write", "a", False),
        ({"scope": "text"}, "write", "a", False),
    ],
)
def test_calls_are_in_scope_by_tool_and_file(
    front: dict[str, Any], tool: str, path: str, concerned: bool
) -> None:
    (rule,) = registered({"condition": "x", **front}).rules

    assert rule.concerns(tool, path, Path("/project")) is concerned


def test_ten_rules_are_bundled_and_described() -> None:
    bundled = [*bundled_rules()]

    assert len(bundled) == 10
    assert all(rule.description and rule.content and rule.scopes for rule in bundled)
