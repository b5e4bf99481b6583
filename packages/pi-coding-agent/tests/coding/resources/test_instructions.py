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
def search(tmp_path: Path) -> InstructionSearch:
    cwd = tmp_path / "home/repo/app"
    cwd.mkdir(parents=True)
    put(cwd.parent / ".git/HEAD", "")
    home = tmp_path / "home"
    return InstructionSearch(
        cwd=cwd, agent_dir=home / ".pi/agent", home=home, trusts=lambda folder: True
    )


def found(search: InstructionSearch, use: AgentUse = ALL) -> tuple[list[str], list[str]]:
    """The texts, and the warnings."""
    warnings: list[str] = []
    agents = AgentFiles(search.cwd, search.home, use, search.trusts, warnings.append)
    files = find_context_files(search, warnings.append, agents).files
    return [file.content for file in files], warnings


def test_instructions_are_ordered_from_the_user_to_the_nearest_directory(
    search: InstructionSearch,
) -> None:
    put(search.agent_dir / "AGENTS.md", "own")
    put(search.agent_dir / "instructions/b.md", "own b")
    put(search.home / ".claude/CLAUDE.md", "claude of the user")
    put(search.cwd.parent / "GEMINI.md", "gemini above")
    put(search.cwd / "AGENTS.md", "here")
    put(search.cwd / ".claude/CLAUDE.md", "claude here")
    put(search.cwd.parent / ".pi/AGENTS.md", "nearest of pi")
    put(search.cwd / ".pi/instructions/a.md", "instructions of pi")

    assert found(search)[0] == [
        "own",
        "own b",
        "claude of the user",
        "gemini above",
        "here",
        "claude here",
        "nearest of pi",
        "instructions of pi",
    ]


def test_only_trusted_directories_are_read(search: InstructionSearch) -> None:
    put(search.cwd.parent / "GEMINI.md", "above")
    put(search.cwd / "GEMINI.md", "here")

    assert found(replace(search, trusts=lambda folder: folder == search.cwd))[0] == ["here"]


def test_agents_that_are_off_or_not_accepted_are_not_read(search: InstructionSearch) -> None:
    put(search.home / ".claude/CLAUDE.md", "of the user")
    put(search.cwd / ".claude/CLAUDE.md", "of the project")

    assert found(search, AgentUse())[0] == ["of the project"]
    assert found(search, AgentUse(off=frozenset({"claude"})))[0] == []


def test_copies_for_several_agents_are_sent_once(search: InstructionSearch) -> None:
    put(search.cwd / "AGENTS.md", "same")
    put(search.cwd / "GEMINI.md", "same")
    (search.cwd / ".github").mkdir()
    (search.cwd / ".github/copilot-instructions.md").symlink_to(search.cwd / "AGENTS.md")

    assert found(search)[0] == ["same"]


def test_imports_end_after_five_levels(search: InstructionSearch) -> None:
    for number in range(7):
        put(search.cwd / f"{number}.md", f"level {number} @{number + 1}.md")
    put(search.cwd / "CLAUDE.md", "top @0.md")
    texts, warnings = found(search)

    assert len(texts) == 6
    assert warnings == [f"{search.cwd / '4.md'}, line 1: @5.md was not read: too many imports."]


def test_files_that_import_each_other_are_read_once(search: InstructionSearch) -> None:
    put(search.cwd / "CLAUDE.md", "top @a.md")
    put(search.cwd / "a.md", "a @CLAUDE.md @a.md")

    assert found(search) == (["top @a.md", "a @CLAUDE.md @a.md"], [])


def test_files_of_the_user_may_import_from_anywhere(search: InstructionSearch) -> None:
    put(search.home / ".claude/CLAUDE.md", "@~/notes/mine.md")
    put(search.home / "notes/mine.md", "mine")

    assert found(search)[0][1] == "mine"


def test_a_project_may_import_from_an_accepted_folder_of_the_user(
    search: InstructionSearch,
) -> None:
    put(search.cwd / "CLAUDE.md", "@~/.claude/mine.md")
    put(search.home / ".claude/mine.md", "mine")

    assert found(search)[0][1] == "mine"
    assert len(found(search, AgentUse())[0]) == 1


def test_in_agents_md_an_at_sign_is_text(search: InstructionSearch) -> None:
    put(search.cwd / "AGENTS.md", "@a.md")
    put(search.cwd / "a.md", "a")

    assert found(search)[0] == ["@a.md"]


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
    search: InstructionSearch,
) -> None:
    put(search.cwd / ".cursor/rules/always.mdc", "---\nalwaysApply: true\n---\nalways")
    put(search.cwd / ".cursor/rules/some.mdc", "---\nglobs: '*.ts'\n---\nsome")
    put(search.cwd / ".claude/rules/plain.md", "plain")
    put(search.cwd / ".claude/rules/paths.md", "---\npaths: src/**\n---\npaths")
    put(search.cwd / ".clinerules", "cline")

    assert found(search)[0] == ["plain", "always", "cline"]
    assert found(replace(search, rulebook=True))[0] == ["plain", "cline"]


def test_an_enormous_number_of_imports_is_bounded(search: InstructionSearch) -> None:
    names = [f"n{number}.md" for number in range(150)]
    for name in names:
        put(search.cwd / name, name)
    put(search.cwd / "CLAUDE.md", " ".join(f"@{name}" for name in names))

    assert len(found(search)[0]) == 101
