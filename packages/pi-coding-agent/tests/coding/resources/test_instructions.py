"""Instructions of other agents, and ``@`` imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.other_agents import AGENTS, AgentUse
from pi.coding.resources.agent_files import AgentFiles
from pi.coding.resources.instructions import InstructionSearch, find_context_files, imports_in
from tests.files import put

ALL = AgentUse(accepted=frozenset(AGENTS))


@pytest.fixture
def where(tmp_path: Path) -> InstructionSearch:
    cwd = tmp_path / "home/repo/app"
    cwd.mkdir(parents=True)
    put(cwd.parent / ".git/HEAD", "")
    home = tmp_path / "home"
    return InstructionSearch(
        cwd=cwd, agent_dir=home / ".pi/agent", home=home, trusts=lambda folder: True
    )


def found(where: InstructionSearch, use: AgentUse = ALL) -> tuple[list[str], list[str]]:
    """The texts, and the warnings."""
    warnings: list[str] = []
    agents = AgentFiles(where.cwd, where.home, use, where.trusts, warnings.append)
    files = find_context_files(where, warnings.append, agents).files
    return [file.content for file in files], warnings


def test_instructions_are_ordered_from_the_user_to_the_nearest_directory(
    where: InstructionSearch,
) -> None:
    put(where.agent_dir / "AGENTS.md", "own")
    put(where.agent_dir / "instructions/b.md", "own b")
    put(where.home / ".claude/CLAUDE.md", "claude of the user")
    put(where.cwd.parent / "GEMINI.md", "gemini above")
    put(where.cwd / "AGENTS.md", "here")
    put(where.cwd / ".claude/CLAUDE.md", "claude here")
    put(where.cwd.parent / ".pi/AGENTS.md", "nearest of pi")
    put(where.cwd / ".pi/instructions/a.md", "instructions of pi")

    assert found(where)[0] == [
        "own",
        "own b",
        "claude of the user",
        "gemini above",
        "here",
        "claude here",
        "nearest of pi",
        "instructions of pi",
    ]


def test_only_trusted_directories_are_read(where: InstructionSearch) -> None:
    put(where.cwd.parent / "GEMINI.md", "above")
    put(where.cwd / "GEMINI.md", "here")

    assert found(replace(where, trusts=lambda folder: folder == where.cwd))[0] == ["here"]


def test_agents_that_are_off_or_not_accepted_are_not_read(where: InstructionSearch) -> None:
    put(where.home / ".claude/CLAUDE.md", "of the user")
    put(where.cwd / ".claude/CLAUDE.md", "of the project")

    assert found(where, AgentUse())[0] == ["of the project"]
    assert found(where, AgentUse(off=frozenset({"claude"})))[0] == []


def test_copies_for_several_agents_are_sent_once(where: InstructionSearch) -> None:
    put(where.cwd / "AGENTS.md", "same")
    put(where.cwd / "GEMINI.md", "same")
    (where.cwd / ".github").mkdir()
    (where.cwd / ".github/copilot-instructions.md").symlink_to(where.cwd / "AGENTS.md")

    assert found(where)[0] == ["same"]


def test_imports_end_after_five_levels(where: InstructionSearch) -> None:
    for number in range(7):
        put(where.cwd / f"{number}.md", f"level {number} @{number + 1}.md")
    put(where.cwd / "CLAUDE.md", "top @0.md")
    texts, warnings = found(where)

    assert len(texts) == 6
    assert warnings == [f"{where.cwd / '4.md'}, line 1: @5.md was not read: too many imports."]


def test_files_that_import_each_other_are_read_once(where: InstructionSearch) -> None:
    put(where.cwd / "CLAUDE.md", "top @a.md")
    put(where.cwd / "a.md", "a @CLAUDE.md @a.md")

    assert found(where) == (["top @a.md", "a @CLAUDE.md @a.md"], [])


def test_files_of_the_user_may_import_from_anywhere(where: InstructionSearch) -> None:
    put(where.home / ".claude/CLAUDE.md", "@~/notes/mine.md")
    put(where.home / "notes/mine.md", "mine")

    assert found(where)[0][1] == "mine"


def test_a_project_may_import_from_an_accepted_folder_of_the_user(where: InstructionSearch) -> None:
    put(where.cwd / "CLAUDE.md", "@~/.claude/mine.md")
    put(where.home / ".claude/mine.md", "mine")

    assert found(where)[0][1] == "mine"
    assert len(found(where, AgentUse())[0]) == 1


def test_in_agents_md_an_at_sign_is_text(where: InstructionSearch) -> None:
    put(where.cwd / "AGENTS.md", "@a.md")
    put(where.cwd / "a.md", "a")

    assert found(where)[0] == ["@a.md"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("See @README and @docs/a.md.", [(1, "README"), (1, "docs/a.md")]),
        ("x\n- @~/x.md\n@./y.md @../z.md", [(2, "~/x.md"), (3, "./y.md"), (3, "../z.md")]),
        ("mail a@b.md, `@code.md`, ``` @x.md", [(1, "x.md")]),
        ("```\n@code.md\n```\n@real.md", [(4, "real.md")]),
        ("~~~\n@open.md", []),
        ("<!-- @hidden.md -->", []),
        (r"@my\ notes.md", [(1, "my notes.md")]),
    ],
)
def test_imports_are_found_outside_of_code(text: str, names: list[tuple[int, str]]) -> None:
    assert list(imports_in(text)) == names


def test_always_applied_rules_are_instructions_unless_the_rulebook_is_active(
    where: InstructionSearch,
) -> None:
    put(where.cwd / ".cursor/rules/always.mdc", "---\nalwaysApply: true\n---\nalways")
    put(where.cwd / ".cursor/rules/some.mdc", "---\nglobs: '*.ts'\n---\nsome")
    put(where.cwd / ".claude/rules/plain.md", "plain")
    put(where.cwd / ".claude/rules/paths.md", "---\npaths: src/**\n---\npaths")
    put(where.cwd / ".clinerules", "cline")

    assert found(where)[0] == ["plain", "always", "cline"]
    assert found(replace(where, rulebook=True))[0] == ["plain", "cline"]


def test_an_enormous_number_of_imports_is_bounded(where: InstructionSearch) -> None:
    names = [f"n{number}.md" for number in range(150)]
    for name in names:
        put(where.cwd / name, name)
    put(where.cwd / "CLAUDE.md", " ".join(f"@{name}" for name in names))

    assert len(found(where)[0]) == 101
