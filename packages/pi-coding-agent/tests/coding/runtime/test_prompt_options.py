from __future__ import annotations

from pi.coding.extension_host.events.policy import forced_prompt, options_from, with_options
from pi.coding.extension_host.events.run import BeforeAgentStartEvent
from pi.coding.prompt import PromptParts, ToolNote, prompt_sections
from pi.coding.resources.discovery import PromptFiles

PARTS = PromptParts(
    cwd="/x",
    date="2026-01-01",
    docs="/docs",
    tools=(ToolNote(name="read", snippet="Show a file", guidelines=("Read first.",)),),
    files=PromptFiles(append="More."),
    guidelines=("Be kind.",),
    extra={"house": "<house>\nrules\n</house>"},
)


def asked(replacement: str | None, *, system_prompt: str = "P") -> BeforeAgentStartEvent:
    return BeforeAgentStartEvent(
        prompt="hi",
        images=(),
        system_prompt=system_prompt,
        system_prompt_options=options_from(PARTS),
        replacement=replacement,
    )


def test_unchanged_options_give_the_same_prompt() -> None:
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


def test_a_custom_prompt_replaces_the_preamble_and_the_rules() -> None:
    options = options_from(PARTS)
    options.custom_prompt = "You are a parrot."

    sections = prompt_sections(with_options(PARTS, options))

    assert sections["preamble"] == "You are a parrot."
    assert "rules" not in sections


def test_a_replacement_that_contains_the_original_prompt_keeps_other_changes() -> None:
    assert forced_prompt(asked("before P after"), "P and more") == "before P and more after"


def test_a_replacement_without_the_original_prompt_is_used_unchanged() -> None:
    assert forced_prompt(asked("mine"), "P and more") == "mine"
    assert forced_prompt(asked("mine", system_prompt=""), "more") == "mine"
    assert forced_prompt(asked(None), "P and more") is None


def test_a_forced_prompt_applies_if_no_handler_replaces_the_prompt() -> None:
    event = asked(None)
    event.system_prompt_options.force_system_prompt = "forced P"

    assert forced_prompt(event, "P and more") == "forced P and more"
