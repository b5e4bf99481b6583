from __future__ import annotations

from collections.abc import Sequence

import pytest

from pi.tui.completion.provider import Completed, Suggestion, Suggestions
from pi.tui.completion.sources import Command, CommandProvider


async def models(typed: str) -> Sequence[Suggestion]:
    return [Suggestion(value=name) for name in ("opus", "sonnet") if name.startswith(typed)]


COMMANDS = [
    Command(name="model", description="choose a model", hint="<name>", complete=models),
    Command(name="new", description="start again"),
    Command(name="skill:review"),
]
PROVIDER = CommandProvider(lambda: COMMANDS)


async def suggested(*lines: str) -> Suggestions | None:
    row = len(lines) - 1
    return await PROVIDER.get_suggestions(lines, row, len(lines[row]), force=False)


async def test_a_slash_lists_all_commands_with_hint_and_description() -> None:
    assert await suggested("/") == Suggestions(
        items=(
            Suggestion(value="model", label="model", description="<name> — choose a model"),
            Suggestion(value="new", label="new", description="start again"),
            Suggestion(value="skill:review", label="skill:review"),
        ),
        prefix="/",
    )


async def test_a_part_of_the_name_finds_a_command() -> None:
    found = await suggested("/rev")

    assert found is not None
    assert [item.value for item in found.items] == ["skill:review"]


@pytest.mark.behaviour("paths-complete")
@pytest.mark.parametrize("lines", [("/tmp/x",), ("hello", "/mo"), ("see /mo",), ("",), ("/zzz",)])
async def test_text_that_is_not_a_command_has_no_suggestions(lines: tuple[str, ...]) -> None:
    assert await suggested(*lines) is None


async def test_a_command_completes_its_arguments() -> None:
    assert await suggested("/model so") == Suggestions(
        items=(Suggestion(value="sonnet"),), prefix="so"
    )
    assert await suggested("/model x") is None
    assert await suggested("/new x") is None


@pytest.mark.parametrize(
    ("line", "col", "prefix", "value", "after", "cursor"),
    [
        ("/mo", 3, "/mo", "model", "/model ", 7),
        ("/mo rest", 3, "/mo", "model", "/model rest", 7),
        ("/model so", 9, "so", "sonnet", "/model sonnet", 13),
        ("/read /t", 8, "/t", "/tmp", "/read /tmp", 10),
    ],
)
def test_the_chosen_suggestion_replaces_the_prefix(
    line: str, col: int, prefix: str, value: str, after: str, cursor: int
) -> None:
    done = PROVIDER.apply_completion([line], 0, col, Suggestion(value=value), prefix)

    assert done == Completed(lines=(after,), row=0, col=cursor)


@pytest.mark.parametrize(
    ("line", "files"),
    [("/mo", False), ("/", False), ("/model x", True), ("/tmp/x", True), ("", True)],
)
def test_file_completion_is_not_triggered_inside_a_command_name(line: str, files: bool) -> None:
    assert PROVIDER.should_trigger_file_completion([line], 0, len(line)) is files
