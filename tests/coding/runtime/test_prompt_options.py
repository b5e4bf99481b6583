from __future__ import annotations

from pi.coding.prompt.sections import PromptParts, ToolNote, prompt_sections
from pi.coding.resources.prompt_files import PromptFiles
from pi.coding.runtime.prompt_options import options_from, with_options

PARTS = PromptParts(
    cwd="/x",
    date="2026-01-01",
    docs="/docs",
    tools=(ToolNote(name="read", snippet="Show a file", guidelines=("Read first.",)),),
    files=PromptFiles(append="More."),
    guidelines=("Be kind.",),
    extra={"house": "<house>\nrules\n</house>"},
)


def test_options_that_nobody_changes_give_the_same_prompt() -> None:
    assert prompt_sections(with_options(PARTS, options_from(PARTS))) == prompt_sections(PARTS)


def test_every_change_reaches_the_prompt() -> None:
    options = options_from(PARTS)
    options.selected_tools.append("ls")
    options.tool_snippets["ls"] = "List a folder"
    options.prompt_guidelines.append("Be quick.")
    options.append_system_prompt = "Less."
    options.sections |= {"mine": "text", "empty": ""}

    sections = prompt_sections(with_options(PARTS, options))

    assert "- ls: List a folder" in sections["tools"]
    assert "- Be quick." in sections["rules"]
    assert sections["addendum"] == "<addendum>\nLess.\n</addendum>"
    assert sections["mine"] == "<mine>\ntext\n</mine>"
    assert sections["house"] == PARTS.extra["house"]
    assert "empty" not in sections


def test_a_prompt_of_ones_own_takes_the_place_of_pis() -> None:
    options = options_from(PARTS)
    options.custom_prompt = "You are a parrot."

    sections = prompt_sections(with_options(PARTS, options))

    assert sections["preamble"] == "You are a parrot."
    assert "rules" not in sections
