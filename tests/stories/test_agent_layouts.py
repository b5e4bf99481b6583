"""Repositories with files of other agents: no file is read before trust, all are after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.files import put
from tests.stories.audit_fixture import AuditFixture
from tests.stories.loopback_model import loopback_model
from tests.stories.test_trust_over_time import Client

ALLOWED = {".git/HEAD"}
"""May be read before trust: the footer shows the branch."""


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: DESCRIBED-{name}\n---\nBody"


CLAUDE = {
    "CLAUDE.md": "CLAUDE-ROOT\nSee @docs/style.md and `@docs/code.md`, mail a@b.md",
    "docs/style.md": "IMPORTED-ONE @deeper/more.md",
    "docs/deeper/more.md": "IMPORTED-TWO",
    "docs/code.md": "NOT-IMPORTED",
    "CLAUDE.local.md": "CLAUDE-LOCAL",
    ".claude/CLAUDE.md": "CLAUDE-INNER",
    ".claude/rules/always.md": "RULE-ALWAYS",
    ".claude/rules/some.md": "---\npaths: src/**\n---\nRULE-SOME",
    ".claude/skills/deploy/SKILL.md": skill("deploy"),
    ".claude/commands/review/deep.md": "---\nargument-hint: '[file] [how]'\n---\n"
    "Review $0, then $1; all: $ARGUMENTS; keep {{this}}",
    ".claude/settings.json": json.dumps({"env": {"DEPLOY_TO": "staging", "PATH": "/evil"}}),
    ".claude/plugins/helpers/.claude-plugin/plugin.json": '{"name": "helpers"}',
    ".claude/plugins/helpers/skills/assist/SKILL.md": skill("assist"),
    ".claude/plugins/helpers/commands/go.md": "Go",
}
CODEX = {
    "AGENTS.md": "CODEX-ROOT @docs/style.md",
    ".codex/config.toml": 'project_doc_fallback_filenames = ["TEAM.md"]\n'
    '[shell_environment_policy]\nset = { CODEX_SET = "1" }',
    "sub/TEAM.md": "CODEX-FALLBACK",
    ".codex/skills/plan/SKILL.md": skill("plan"),
    ".agents/skills/shared/SKILL.md": skill("shared"),
    ".codex/prompts/fix.md": "Fix $1 for $ARGUMENTS",
}
GEMINI = {
    "GEMINI.md": "GEMINI-ROOT @./more.md",
    "more.md": "GEMINI-MORE",
    "sub/CONTEXT.md": "GEMINI-NAMED",
    ".gemini/settings.json": '{"context": {"fileName": ["GEMINI.md", "CONTEXT.md"]}}',
    ".gemini/skills/look/SKILL.md": skill("look"),
    ".gemini/commands/git/commit.toml": 'description = "d"\nprompt = "Commit {{args}} now"',
    ".gemini/extensions/ext/gemini-extension.json": '{"name": "ext", "contextFileName": "E.md"}',
    ".gemini/extensions/ext/E.md": "GEMINI-EXTENSION",
    ".gemini/extensions/ext/commands/extra.toml": 'prompt = "Extra"',
}
CURSOR = {
    ".cursorrules": "CURSOR-OLD",
    ".cursor/rules/base.mdc": "---\nalwaysApply: true\n---\nCURSOR-ALWAYS",
    ".cursor/rules/ts.mdc": "---\nglobs: *.ts,*.tsx\nalwaysApply: false\n---\nCURSOR-SOME",
    ".cursor/commands/ship.md": "Ship it",
    ".cursor/skills/paint/SKILL.md": skill("paint"),
}
OPENCODE = {
    "AGENTS.md": "OPENCODE-ROOT",
    "opencode.json": json.dumps(
        {
            "instructions": ["docs/*.md", "../outside.md"],
            "command": {"check": {"template": "Check $ARGUMENTS", "description": "d"}},
        }
    ),
    "docs/a.md": "OPENCODE-A",
    "docs/b.md": "OPENCODE-B",
    ".opencode/command/test.md": "Test $1",
    ".opencode/skill/probe/SKILL.md": skill("probe"),
}
COPILOT = {
    ".github/copilot-instructions.md": "COPILOT-ROOT",
    ".github/instructions/py.instructions.md": "---\napplyTo: '**/*.py'\n---\nCOPILOT-PY",
    ".github/prompts/explain.prompt.md": "Explain it",
}
LAYOUTS = {
    "claude": (
        CLAUDE,
        "/review:deep a.py 'with care'",
        "Review a.py, then with care; all: a.py 'with care'; keep {{this}}",
        {"CLAUDE-ROOT", "IMPORTED-ONE", "IMPORTED-TWO", "CLAUDE-LOCAL", "CLAUDE-INNER"}
        | {"RULE-ALWAYS", "DESCRIBED-deploy", "DESCRIBED-assist"},
        {"NOT-IMPORTED", "RULE-SOME"},
    ),
    "codex": (
        CODEX,
        "/fix one two",
        "Fix one for one two",
        {"CODEX-ROOT", "CODEX-FALLBACK", "DESCRIBED-plan", "DESCRIBED-shared"},
        set(),
    ),
    "gemini": (
        GEMINI,
        "/git:commit all of it",
        "Commit all of it now",
        {"GEMINI-ROOT", "GEMINI-MORE", "GEMINI-NAMED", "GEMINI-EXTENSION", "DESCRIBED-look"},
        set(),
    ),
    "cursor": (
        CURSOR,
        "/ship today",
        "Ship it\\n\\nARGUMENTS: today",
        {"CURSOR-OLD", "CURSOR-ALWAYS", "DESCRIBED-paint"},
        {"CURSOR-SOME"},
    ),
    "opencode": (
        OPENCODE,
        "/check the build",
        "Check the build",
        {"OPENCODE-ROOT", "OPENCODE-A", "OPENCODE-B", "DESCRIBED-probe"},
        {"OUTSIDE"},
    ),
    "copilot": (
        COPILOT,
        "/explain",
        "Explain it",
        {"COPILOT-ROOT", "For files that match **/*.py:", "COPILOT-PY"},
        set(),
    ),
}


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[AuditFixture]:
    with loopback_model() as model:
        made = AuditFixture(tmp_path, model, empty=True)
        put(made.project.root / ".git/HEAD", "ref: refs/heads/main\n")
        put(made.project.root.parent / "outside.md", "OUTSIDE")
        yield made


def fill(kit: AuditFixture, files: dict[str, str]) -> None:
    for name, text in files.items():
        put(kit.project.root / name, text)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("claude", "codex") else pytest.mark.full)
        for name in LAYOUTS
    ],
)
def test_files_of_other_agents_are_used_after_trust_and_not_read_before(
    kit: AuditFixture, name: str
) -> None:
    files, prompt, sent, present, absent = LAYOUTS[name]
    fill(kit, files)

    before = kit.open("print", prompt=prompt)
    after = kit.open("print", prompt=prompt, approve=True)

    untrusted, trusted = kit.model.requests
    assert before.opened <= ALLOWED
    assert (before.started, before.imported) == ([], [])
    assert {text for text in present if text in untrusted} == set()
    assert {text for text in present if text not in trusted} == set()
    assert {text for text in absent if text in trusted} == set()
    assert sent in trusted
    # The notice lists exactly the files that are used.
    listed = before.stderr.partition("not loaded by pi itself: ")[2].partition(". Tools may")[0]
    root = kit.project.root.resolve()
    named = {str(Path(path).relative_to(root)) for path in listed.split(", ")}
    opened = {path for path in after.opened - ALLOWED if (root / path).exists()}
    assert {path for path in named if not any(each.startswith(path) for each in opened)} == set()
    imported = {"docs/style.md", "docs/deeper/more.md", "more.md", "docs/a.md", "docs/b.md"}
    fallback = {"sub/TEAM.md", "sub/CONTEXT.md"}  # names from settings, which were not read yet
    unnamed = {path for path in opened if not path.startswith(tuple(named))}
    assert unnamed <= imported | fallback


def test_variables_of_claude_code_reach_commands_except_those_that_choose_programs(
    kit: AuditFixture,
) -> None:
    fill(kit, CLAUDE)
    kit.model.command = 'echo "to=[$DEPLOY_TO] path=[$PATH]"'
    outcome = kit.open("json", approve=True, prompt="hi")

    assert f"to=[staging] path=[{kit.environ['PATH']}]" in outcome.stdout
    assert "The variable PATH in settings of another agent is not used." in outcome.stderr


@pytest.mark.full
def test_a_disabled_source_is_neither_reported_nor_read(kit: AuditFixture) -> None:
    files = {name: text for name, text in CLAUDE.items() if name != "CLAUDE.md"}
    fill(kit, {**files, **GEMINI})
    put(kit.agent_dir / "config.yml", "sources:\n  claude: false\n")

    before = kit.open("print", prompt="hi")
    after = kit.open("print", prompt="hi", approve=True)

    assert "GEMINI.md" in before.stderr
    assert ".claude" not in before.stderr
    assert {name for name in after.opened if ".claude" in name} == set()
    assert "GEMINI-ROOT" in kit.model.requests[-1]


@pytest.mark.full
def test_user_files_of_other_agents_are_not_used_until_accepted(kit: AuditFixture) -> None:
    put(kit.home / ".claude/CLAUDE.md", "MY-OWN-WORDS")
    put(kit.home / ".claude/skills/mine/SKILL.md", skill("mine"))

    quiet = kit.open("print", prompt="hi")
    assert "Not used: your own files of Claude Code." in quiet.stderr
    assert "MY-OWN-WORDS" not in kit.model.requests[-1]

    put(kit.project.cwd / ".pi/settings.json", '{"sources": {"claude": true}}')
    kit.open("print", prompt="hi", approve=True)
    assert "MY-OWN-WORDS" not in kit.model.requests[-1], "a project must not accept them"

    put(kit.agent_dir / "settings.json", '{"sources": {"claude": true}}')
    accepted = kit.open("print", prompt="hi")
    assert "Not used" not in accepted.stderr
    assert "MY-OWN-WORDS" in kit.model.requests[-1]
    assert "DESCRIBED-mine" in kit.model.requests[-1]


@pytest.mark.full
def test_a_project_cannot_import_files_of_the_user(kit: AuditFixture) -> None:
    put(kit.home / "secret.md", "MY-SECRET")
    fill(kit, {"CLAUDE.md": "a\n@~/secret.md\n@../outside.md\n@missing.md\n"})
    outcome = kit.open("print", prompt="hi", approve=True)
    path = kit.project.root / "CLAUDE.md"

    assert f"{path}, line 2: @~/secret.md was not read: it is outside" in outcome.stderr
    assert f"{path}, line 3: @../outside.md was not read" in outcome.stderr
    assert f"{path}, line 4: the import @missing.md does not exist." in outcome.stderr
    assert "MY-SECRET" not in kit.model.requests[-1]
    assert "OUTSIDE" not in kit.model.requests[-1]


def test_overlays_of_the_command_line_and_the_environment_are_read(kit: AuditFixture) -> None:
    first = put(kit.home / "first.yml", "includeSkills: [a*]\nextensions: [~/ext/mine.py]\n")
    second = put(kit.home / "second.yml", "includeSkills: [d*]\nskills: [~/more]\n")
    put(kit.home / "more/dance/SKILL.md", skill("dance"))
    put(kit.home / "ext/mine.py", f"open({str(kit.home / 'ran')!r}, 'w')")
    fill(kit, CLAUDE)
    command = kit.command("print", "hi", approve=True)
    kit.run(["env", f"PI_CONFIG_FILES={first}", *command, "--config", str(second)])

    found = [name in kit.model.requests[-1] for name in ("-deploy", "-assist", "-dance")]
    assert found == [True, False, True]
    assert (kit.home / "ran").exists()


@pytest.mark.full
def test_tool_files_of_other_agents_are_used_only_if_written_for_pi(kit: AuditFixture) -> None:
    tool = '@tool\ndef shout(text: str) -> str:\n    """Shout."""\n    return text.upper()\n'
    put(kit.project.cwd / ".claude/tools/shout.py", f"from pi.extension import tool\n\n{tool}")
    put(kit.project.cwd / ".claude/tools/script.py", f"open({str(kit.home / 'ran')!r}, 'w')")
    untrusted = kit.open("print", prompt="hi")
    kit.open("print", prompt="hi", approve=True)

    assert untrusted.opened <= ALLOWED
    assert ['"shout"' in request for request in kit.model.requests] == [False, True]
    assert not (kit.home / "ran").exists()


def test_the_rpc_client_is_asked_about_user_files_of_other_agents(kit: AuditFixture) -> None:
    put(kit.home / ".claude/skills/mine/SKILL.md", skill("mine"))
    with Client(kit) as client:
        before = client.ask("get_commands")["commands"]
        question = client.question()
        client.answer(question, "Use them")
        client.prompt("hello")
        after = client.ask("get_commands")["commands"]

    names = [[each["name"] for each in listed] for listed in (before, after)]
    assert "Use your files of Claude Code, too?" in question["title"]
    assert ["skill:mine" in each for each in names] == [False, True]


@pytest.mark.full
def test_shell_commands_in_a_project_command_run_only_after_consent(kit: AuditFixture) -> None:
    path = kit.project.root / ".claude/commands/pr.md"
    put(path, "State: !`echo from-$1 in; false`\n\n!`echo two`\nFor $ARGUMENTS")
    trust = kit.agent_dir / "trust.json"
    trust.write_text(json.dumps({str(kit.project.root): True}))
    prompt = "/pr 'a;b'"

    headless = kit.open("print", prompt=prompt)
    assert f"Skipped shell commands of /pr of {path}: not allowed yet." in headless.stderr
    assert "!`echo from-a;b in; false`" in kit.model.requests[-1]

    for answer, expected in (
        ("Allow", "State: from-a;b in\\n(exit code 1)\\n\\ntwo\\nFor 'a;b'"),
        (None, "State: from-a;b in\\n(exit code 1)\\n\\ntwo\\nFor 'a;b'"),
    ):
        with Client(kit) as client:
            client.prompt(prompt, answer=answer)
        assert expected in kit.model.requests[-1]

    put(path, "Changed: !`echo other`")
    with Client(kit) as client:
        client.prompt(prompt, answer="Deny")
    assert "Changed: !`echo other`" in kit.model.requests[-1]


@pytest.mark.full
def test_shell_commands_in_user_commands_run_without_a_question(kit: AuditFixture) -> None:
    put(kit.agent_dir / "commands/now.md", "It is !`echo noon`.")
    kit.open("print", prompt="/now")

    assert "It is noon." in kit.model.requests[-1]
