from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.base.records import replace
from pi.coding.resources.kinds import load_kind
from pi.coding.resources.rules import RULE_SOURCES, RULES, Rule, parse_rule, path_matches
from pi.coding.trust import gated_in
from tests.coding.resources.places import make_search
from tests.files import put

PATH = Path("/somewhere/tabs.mdc")


def tabs(content: str, **fields: Any) -> Rule:
    first = (*fields.get("conditions", ()), "")[0]
    return Rule(name="tabs", path=str(PATH), content=content, condition=first, **fields)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Use tabs.", tabs("Use tabs.")),
        (
            "---\ndescription: d\nglobs: '*.py'\nalwaysApply: true\ncondition: later\n---\nx\n",
            tabs("x", description="d", globs=("*.py",), always_apply=True, conditions=("later",)),
        ),
        (
            "---\nglobs: [a, 1, b]\nalwaysApply: 'yes'\nttsr_trigger: t\n---\nx",
            tabs("x", globs=("a", "b"), conditions=("t",)),
        ),
        (
            "---\r\ndescription: Style: tabs\r\nglobs: *.ts,*.tsx\r\nalwaysApply: true\r\n---\r\nx",
            tabs("x", description="Style: tabs", globs=("*.ts", "*.tsx"), always_apply=True),
        ),
        ("---\ntrigger: always_on\n---\nx", tabs("x", always_apply=True)),
        ("---\npaths: ['src/**']\n---\nx", tabs("x", globs=("src/**",))),
        (
            "---\ncondition: [a, b]\nttsr_trigger: c\nscope: 'text, tool:edit(*.{a,b})'\n---\nx",
            tabs("x", conditions=("a", "b"), scopes=("text", "tool:edit(*.{a,b})")),
        ),
        (
            "---\nastCondition: 'if ($X) f($X)'\nenabled: false\n---\nx",
            tabs("x", ast_conditions=("if ($X) f($X)",), enabled=False),
        ),
    ],
)
def test_a_rule_is_parsed_from_the_format_of_any_agent(text: str, rule: Rule) -> None:
    parsed = parse_rule(text, PATH)

    assert replace(parsed, meta={}) == rule


def test_broken_front_matter_is_named_with_its_line() -> None:
    rule = parse_rule("---\n: : [\n---\nx", PATH)

    assert (rule.content, rule.always_apply) == ("x", False)
    assert rule.problem.startswith(f"{PATH}: front matter: line 2 is not `name: value`")


def test_the_whole_front_matter_is_kept() -> None:
    text = (
        "---\ncondition: [TODO, FIXME]\nastCondition: ['$X == None']\nscope: [edit]\n"
        "enabled: false\nglobs: '*.{js,ts}, *.py'\n---\nx"
    )

    rule = parse_rule(text, PATH)

    assert (rule.condition, rule.globs) == ("TODO", ("*.{js,ts}", "*.py"))
    assert rule.meta == {
        "condition": ["TODO", "FIXME"],
        "astCondition": ["$X == None"],
        "scope": ["edit"],
        "enabled": False,
        "globs": "*.{js,ts}, *.py",
    }


def test_rules_of_every_agent_are_found_in_the_order_of_their_priority(tmp_path: Path) -> None:
    search = make_search(tmp_path)
    for name in (
        "project/.cursor/rules/a.mdc",
        "project/.windsurf/rules/b.md",
        "project/.clinerules",
        "project/.claude/rules/d.md",
        "project/.pi/rules/a.md",
        "agent/rules/f.md",
        ".codeium/windsurf/memories/global_rules.md",
    ):
        put(search.home / name, "x")

    items = load_kind(RULES, RULE_SOURCES, search, print)

    assert [(item.source, item.key, item.scope, item.shadowed) for item in items] == [
        ("pi", "a", "project", False),
        ("pi", "f", "user", False),
        ("claude", "d", "project", False),
        ("cursor", "a", "project", True),
        ("windsurf", "global_rules", "user", False),
        ("windsurf", "b", "project", False),
        ("cline", "clinerules", "project", False),
    ]


def test_a_folder_of_cline_rules_above_is_found(tmp_path: Path) -> None:
    search = make_search(tmp_path)
    put(search.home / ".clinerules" / "one.md", "x")

    items = load_kind(RULES, RULE_SOURCES, search, print)

    assert [item.key for item in items] == ["one"]


def test_cursor_rules_of_the_user_shadow_those_of_the_project(tmp_path: Path) -> None:
    search = make_search(tmp_path)
    put(search.home / ".cursor/rules/same.mdc", "of the user")
    put(search.cwd / ".cursor/rules/same.mdc", "of the project")

    items = load_kind(RULES, RULE_SOURCES, search, print)

    assert [item.value.content for item in items] == ["of the user", "of the project"]
    assert [item.shadowed for item in items] == [False, True]


@pytest.mark.parametrize("name", [".cursorrules", ".windsurfrules"])
def test_cursorrules_and_windsurfrules_always_apply_in_a_trusted_project(
    tmp_path: Path, name: str
) -> None:
    trusting, wary = make_search(tmp_path), make_search(tmp_path, trusted=False)
    put(trusting.cwd / name, "Be brief.")

    (item,) = load_kind(RULES, RULE_SOURCES, trusting, print)

    assert (item.key, item.value.always_apply) == (name.removeprefix("."), True)
    assert load_kind(RULES, RULE_SOURCES, wary, print) == ()


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/in/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("./src/*.py", "./src/a.py", True),
        ("src/*.py", "/project/src/a.py", True),
        ("src/*.py", "lib/../src/a.py", True),
        ("src/*.py", "other/src/a.py", False),
        ("**/src/*.py", "other/src/a.py", True),
        ("src/**", "src/a/b/c", True),
        ("*.{js,ts}", "x/a.ts", True),
        ("src/*.py", "/elsewhere/src/a.py", False),
        ("/elsewhere/**", "../elsewhere/a.py", True),
    ],
)
def test_globs_match_names_anywhere_and_paths_below_the_project(
    glob: str, path: str, matches: bool
) -> None:
    assert path_matches((glob,), path, Path("/project")) is matches


@pytest.mark.parametrize(
    "name",
    [
        ".pi/rules/x.md",
        ".claude/rules/x.md",
        ".codex/rules/x.md",
        ".agents/rules/x.md",
        ".gemini/rules/x.md",
        ".cursor/rules/x.mdc",
        ".windsurf/rules/x.md",
        ".clinerules",
        ".clinerules/x.md",
        "../../.clinerules",
    ],
)
def test_every_rule_file_of_a_project_requires_trust(tmp_path: Path, name: str) -> None:
    trusting, wary = make_search(tmp_path), make_search(tmp_path, trusted=False)
    put(trusting.cwd / name, "x")

    # Rules of pi are named by the extensions that use them, in their manifests.
    assert len(gated_in(wary.cwd, home=wary.home, gates=[".pi/rules"])) == 1
    assert len(load_kind(RULES, RULE_SOURCES, trusting, print)) == 1
    assert load_kind(RULES, RULE_SOURCES, wary, print) == ()


def test_rules_in_the_home_folder_do_not_shadow_themselves(tmp_path: Path) -> None:
    search = make_search(tmp_path)
    put(search.home / ".claude/rules/mine.md", "x")

    items = load_kind(RULES, RULE_SOURCES, replace(search, cwd=search.home), print)

    assert [(item.key, item.shadowed) for item in items] == [("mine", False)]
