from __future__ import annotations

from pi.coding.prompt import SystemPromptOptions, tagged


def test_a_section_stands_between_tags_of_its_name() -> None:
    assert tagged("mine", "text") == "<mine>\ntext\n</mine>"


def test_options_of_one_run_are_not_those_of_another() -> None:
    one, other = SystemPromptOptions(cwd="/"), SystemPromptOptions(cwd="/")
    one.sections["a"] = "b"

    assert other.sections == {}
