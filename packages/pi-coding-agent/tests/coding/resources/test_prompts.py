"""Prompt templates and their arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources.prompts import (
    MissingValues,
    PromptTemplate,
    expand_prompt,
    find_prompts,
    split_arguments,
    substitute,
    variables,
)
from pi.coding.resources.sources import Place
from tests.coding.files.unprivileged import locked_folder


def found(*roots: Path) -> tuple[tuple[PromptTemplate, ...], list[str]]:
    warnings: list[str] = []
    return find_prompts([Place(path=root) for root in roots], warnings.append), warnings


def test_a_template_is_named_after_its_file(tmp_path: Path) -> None:
    (tmp_path / "fix.md").write_text(
        "---\ndescription: Fixes.\nargument-hint: <what>\n---\n\nFix $1\n"
    )
    (tmp_path / "plain.md").write_text("\nPlain words\n")
    (tmp_path / "other.txt").write_text("x")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "no.md").write_text("x")
    (fix, plain), warnings = found(tmp_path)

    assert (fix.name, fix.description, fix.argument_hint, fix.content) == (
        "fix",
        "Fixes.",
        "<what>",
        "Fix $1",
    )
    assert (plain.description, plain.content) == ("Plain words", "\nPlain words\n")
    assert warnings == []


def test_the_argument_hint_lists_the_variables_unless_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Fix {{what}} in {{file}}")
    (tmp_path / "b.md").write_text("---\nargument-hint: FILE\n---\nFix {{file}}")
    templates, _ = found(tmp_path)

    assert [template.argument_hint for template in templates] == ["<what> <file>", "FILE"]


def test_the_first_template_of_a_name_is_used_and_an_invalid_one_is_a_warning(
    tmp_path: Path,
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.md").write_text(folder)
    (tmp_path / "b" / "bad.md").write_text("---\na: [\nno field\n---\n")
    templates, warnings = found(tmp_path / "a", tmp_path / "b")

    assert [template.content for template in templates] == ["a"]
    assert len(warnings) == 2


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("a b", ["a", "b"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ('x="y z"w', ["x=y zw"]),
        (r"a\ b", ["a\\", "b"]),
        ("it's 'so odd'", ["it's", "so odd"]),
        ("it's broken", ["it's", "broken"]),
        ('6" wide', ['6"', "wide"]),
        ("", []),
        ("a\nb", ["a", "b"]),
    ],
)
def test_arguments_are_split_at_spaces_and_kept_together_by_quotes(
    text: str, arguments: list[str]
) -> None:
    assert split_arguments(text) == arguments


@pytest.mark.parametrize(
    ("content", "result"),
    [
        ("$1-$2-$3-$0", "a-b c--"),
        ("$10", ""),
        ("$@ | $ARGUMENTS", "a b c | a b c"),
        ("${1:-x} ${9:-y z}", "a y z"),
        ("${@:-none}", "a b c"),
        ("${@:2} ${@:1:1}", "b c a"),
        ("${1} $$1 \\$1 $x", "${1} $a \\a $x"),
    ],
)
def test_placeholders_are_filled(content: str, result: str) -> None:
    assert substitute(content, ["a", "b c"]) == result


def test_defaults_stand_in_for_everything_that_is_missing() -> None:
    assert substitute("${@:-none} ${ARGUMENTS:-nothing} ${1:-one}", []) == "none nothing one"


@pytest.mark.behaviour("template-arguments")
def test_substituted_arguments_are_not_expanded_again() -> None:
    assert substitute("pay $1 to $2", ["$100", "$1"]) == "pay $100 to $1"


def test_a_command_is_expanded_and_other_text_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "fix.md").write_text("Fix $1 now")
    templates, _ = found(tmp_path)

    assert expand_prompt("/fix 'the bug'", templates) == "Fix the bug now"
    assert expand_prompt("/other x", templates) == "/other x"
    assert expand_prompt("fix it", templates) == "fix it"


def expanded(content: str, arguments: str, **more: str) -> str:
    template = PromptTemplate(name="t", description="", content=content)
    return expand_prompt(f"/t {arguments}", [template], more)


@pytest.mark.parametrize(
    ("content", "arguments", "result"),
    [
        ("{{file}} as {{ goal }}, {{file}}", "a.py fast", "a.py as fast, a.py"),
        ("{{file}} as {{goal}}", "goal=fast a.py", "a.py as fast"),
        ("{{file}} as {{goal}}", "goal=\"very fast\" 'my file'", "my file as very fast"),
        ("{{file}}!", "file=", "!"),
        ("{{file}}", "other=x", "other=x"),
        ("{{file}} for $1, $@", "file=a you me", "a for you, you me"),
        ("{{a}} {{b}}", "{{b}} $1", "{{b}} $1"),
        ("{{a-b_1}}", "x", "x"),
        ("${{ secrets.KEY }} {{ a.b }} ${{x}} {{}} {{1}}", "", None),
    ],
)
def test_variables_are_filled_by_name_and_then_in_order(
    content: str, arguments: str, result: str | None
) -> None:
    assert expanded(content, arguments) == (content if result is None else result)


def test_variables_are_counted_once_in_the_order_of_their_first_appearance() -> None:
    assert variables("{{b}} $1 {{a}} {{ b }} {{a}}") == ("b", "a")


def test_a_variable_without_a_value_raises() -> None:
    with pytest.raises(MissingValues) as caught:
        expanded("{{file}} {{goal}} {{who}}", "goal=x me")

    assert caught.value.names == ("who",)
    assert caught.value.explain() == (
        'The prompt template /t needs a value for who. Write /t who="…"'
    )


def test_given_values_fill_variables_without_arguments() -> None:
    assert expanded("{{file}} {{goal}}", "goal=x", file="a b", goal="never") == "a b x"


def test_a_locked_folder_hides_no_other_template() -> None:
    with locked_folder() as locked:
        (locked.parent / "open.md").write_text("Open it.")

        templates, warnings = found(locked.parent, locked, locked / "prompts")

    assert ([template.name for template in templates], warnings) == (["open"], [])
