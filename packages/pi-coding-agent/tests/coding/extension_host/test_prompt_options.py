from __future__ import annotations

from pi.coding.prompt import SystemPromptOptions, tagged


def test_a_section_is_enclosed_in_tags_of_its_name() -> None:
    assert tagged("mine", "text") == "<mine>\ntext\n</mine>"


def test_prompt_options_share_no_state() -> None:
    one, other = SystemPromptOptions(cwd="/"), SystemPromptOptions(cwd="/")
    one.sections["a"] = "b"

    assert other.sections == {}
