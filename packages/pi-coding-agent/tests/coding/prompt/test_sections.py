"""The sections of the system prompt."""

from __future__ import annotations

import pytest

from pi.agent.skills import Skill
from pi.base.records import replace
from pi.coding.prompt import PromptParts, ToolNote, prompt_sections
from pi.coding.resources.discovery import PromptFiles
from pi.coding.resources.instructions import ContextFile

READ = ToolNote(name="read", snippet="Show a file", guidelines=("Look first.",))
PARTS = PromptParts(cwd="/somewhere", date="2026-11-16", docs="/docs", tools=(READ,))
SKILL = Skill(name="review", description="Reviews.", location="/s/SKILL.md", content="x")


def test_the_sections_stand_in_the_order_of_the_format() -> None:
    parts = replace(
        PARTS,
        files=PromptFiles(append="More."),
        context=(ContextFile(path="/somewhere/AGENTS.md", content="Be kind.\n"),),
        skills=(SKILL,),
        extra={"weather": "<weather>rain</weather>"},
    )

    assert list(prompt_sections(parts)) == [
        "preamble",
        "tools",
        "rules",
        "docs",
        "addendum",
        "project_context",
        "skills",
        "weather",
        "cwd",
    ]


def test_empty_sections_are_left_out() -> None:
    assert list(prompt_sections(PARTS)) == ["preamble", "tools", "rules", "docs", "cwd"]


def test_tools_are_listed_with_their_snippet_and_guidelines_become_rules() -> None:
    quiet = ToolNote(name="quiet", guidelines=("Look first.",))
    sections = prompt_sections(replace(PARTS, tools=(READ, quiet)))

    assert sections["tools"] == "<tools>\n- read: Show a file\n</tools>"
    assert sections["rules"].count("- Look first.") == 1


def test_a_custom_system_prompt_replaces_all_sections_about_pi() -> None:
    sections = prompt_sections(replace(PARTS, files=PromptFiles(system="You are a cat.")))

    assert sections == {"preamble": "You are a cat.", "cwd": "<cwd>\n/somewhere\n</cwd>"}


def test_project_instructions_carry_their_path() -> None:
    context = (ContextFile(path="/a/AGENTS.md", content="A\n"), ContextFile(path="/b", content="B"))
    section = prompt_sections(replace(PARTS, context=context))["project_context"]

    assert section.startswith("<project_context>\nInstructions for this project")
    assert section.endswith(
        '\n\n<project_instructions path="/a/AGENTS.md">\nA\n</project_instructions>\n'
        '<project_instructions path="/b">\nB\n</project_instructions>\n</project_context>'
    )


@pytest.mark.parametrize(("tool", "listed"), [("read", True), ("bash", True), ("write", False)])
def test_skills_are_listed_only_when_their_files_can_be_read(tool: str, listed: bool) -> None:
    parts = replace(PARTS, tools=(ToolNote(name=tool),), skills=(SKILL,))

    assert ("skills" in prompt_sections(parts)) is listed


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_the_same_parts_produce_the_same_prompt() -> None:
    assert prompt_sections(PARTS) == prompt_sections(PARTS)
    assert "2026-11-16" in prompt_sections(PARTS)["preamble"]


def test_documentation_that_is_not_installed_is_not_mentioned() -> None:
    assert "docs" not in prompt_sections(replace(PARTS, docs=""))
