"""A rule is in one bucket, and the sections have a fixed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.batteries.rulebook.adapter import (
    always_section,
    details,
    report,
    rulebook_section,
    sort_rules,
)
from pi.coding.resources.kinds import ResourceItem
from pi.coding.resources.rules import Rule


def item(name: str, *, source: str = "pi", shadowed: bool = False, **fields: Any) -> ResourceItem:
    path = f"/rules/{source}/{name}.md"
    rule = Rule(name=name, path=path, content=f"Text of {name}.", **fields)
    return ResourceItem(
        key=name,
        value=rule,
        path=Path(path),
        source=source,
        scope="project",
        priority=100,
        shadowed=shadowed,
    )


@pytest.mark.parametrize(
    ("fields", "bucket"),
    [
        ({"description": "d"}, "rulebook"),
        ({"always_apply": True}, "always"),
        ({"always_apply": True, "description": "d"}, "always"),
        ({"always_apply": True, "globs": ("*.py",)}, "always"),
        ({"globs": ("*.py",)}, "unused"),
        ({}, "unused"),
        ({"conditions": ("x",)}, "unused"),
        ({"always_apply": True, "enabled": False}, "unused"),
        # Stream rules are off: the other bucket is used.
        ({"conditions": ("x",), "always_apply": True}, "always"),
        ({"conditions": ("x",), "description": "d"}, "rulebook"),
    ],
)
def test_the_front_matter_determines_the_bucket(fields: dict[str, Any], bucket: str) -> None:
    (rule,) = sort_rules([item("a", **fields)])

    assert rule.bucket == bucket


@pytest.mark.parametrize("fields", [{"always_apply": True}, {"description": "d"}, {}])
def test_a_stream_rule_is_only_in_the_stream_bucket(fields: dict[str, Any]) -> None:
    (rule,) = sort_rules([item("a", conditions=("x",), **fields)], stream_rules={"a"})

    assert (rule.bucket, rule.is_readable) == ("stream", False)


def test_a_disabled_rule_is_in_no_bucket() -> None:
    rules = sort_rules([item("a", always_apply=True), item("b", description="d")], disabled={"a"})

    assert [rule.bucket for rule in rules] == ["unused", "rulebook"]


def test_enforced_globs_keep_a_rule_out_of_the_prompt() -> None:
    items = [
        item("a", always_apply=True, globs=("*.py",)),
        item("b", always_apply=True),
        item("c", description="d", globs=("*.py",)),
    ]

    rules = sort_rules(items, globs="enforce")

    assert [rule.bucket for rule in rules] == ["on touch", "always", "rulebook"]
    assert all(rule.is_readable for rule in rules)


def test_the_sections_contain_the_always_rules_and_the_list() -> None:
    rules = sort_rules(
        [
            item("a", always_apply=True),
            item("b", description="When\n you <b>uild", globs=("*.{c,h}", "src/**")),
            item("c", always_apply=True),
            item("d", description="last"),
        ]
    )

    assert always_section(rules) == "Text of a.\n\nText of c."
    assert rulebook_section(rules) == (
        "# Rules\n"
        "Read rule://<name> when working in matching domain.\n"
        '<rule name="b">When you &lt;b&gt;uild<glob>*.{c,h}</glob><glob>src/**</glob></rule>\n'
        '<rule name="d">last</rule>'
    )


def test_without_rules_there_are_no_sections() -> None:
    assert (always_section(()), rulebook_section(())) == ("", "")


def test_the_report_names_every_rule_with_its_reason_and_file() -> None:
    rules = sort_rules(
        [
            item("tabs", always_apply=True),
            item("api", description="d", globs=("*.ts",)),
            item("tabs", source="cursor", shadowed=True, always_apply=True),
            item("empty"),
        ]
    )

    assert report(rules, ["A note."]) == (
        "A note.\n"
        "\n"
        "In every prompt:\n"
        "  tabs: alwaysApply (pi, project, /rules/pi/tabs.md)\n"
        "\n"
        "Offered to the model as rule://NAME:\n"
        "  api [*.ts]: has a description (pi, project, /rules/pi/api.md)\n"
        "\n"
        "Not used:\n"
        "  tabs: shadowed by /rules/pi/tabs.md (cursor, project, /rules/cursor/tabs.md)\n"
        "  empty: neither alwaysApply nor a description (pi, project, /rules/pi/empty.md)"
    )
    assert details([rule for rule in rules if rule.name == "tabs"]).endswith("\n\nText of tabs.")
    assert report((), ()).startswith("There are no rules.")
