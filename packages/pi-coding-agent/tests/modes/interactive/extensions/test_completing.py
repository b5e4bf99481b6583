from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pi.modes.interactive.extensions.completion import ExtensionCompletion, as_suggestions
from pi.tui.completion.provider import Completed, Suggestion, Suggestions, replace_prefix


class Words:
    """Returns the given suggestions, or raises the given exception."""

    def __init__(self, suggestions: Any) -> None:
        self.found = suggestions

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Usual(Words):
    """A provider with all methods."""

    trigger_characters = "@"

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        return replace_prefix(lines, row, col, prefix, item.value.upper())

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        return False


FOUND = Suggestions(items=(Suggestion(value="usual"),), prefix="u")


def completing() -> tuple[ExtensionCompletion, list[str]]:
    reported: list[str] = []
    made = ExtensionCompletion(lambda error: reported.append(str(error)))
    made.complete_with(Usual(FOUND))
    return made, reported


@pytest.mark.parametrize(
    ("found", "suggested"),
    [
        (None, None),
        (FOUND, FOUND),
        ({"items": [], "prefix": ""}, None),
        (
            {
                "items": ["a", {"value": "b", "description": "c"}, Suggestion(value="d")],
                "prefix": "p",
            },
            Suggestions(
                items=(
                    Suggestion(value="a"),
                    Suggestion(value="b", description="c"),
                    Suggestion(value="d"),
                ),
                prefix="p",
            ),
        ),
    ],
)
def test_suggestions_of_an_extension_may_be_plain_values(
    found: Any, suggested: Suggestions | None
) -> None:
    assert as_suggestions(found) == suggested


async def test_providers_of_extensions_are_called_before_the_default_provider() -> None:
    made, _ = completing()
    end = made.add(Words({"items": ["own"], "prefix": "o"}))

    suggestions = await made.provider.get_suggestions(["o"], 0, 1, force=False)
    assert suggestions == Suggestions(items=(Suggestion(value="own"),), prefix="o")
    assert made.provider.apply_completion(["o"], 0, 1, suggestions.items[0], "o").lines == ("own",)

    end()
    end()
    assert await made.provider.get_suggestions(["u"], 0, 1, force=False) == FOUND
    assert made.provider.apply_completion(["u"], 0, 1, FOUND.items[0], "u").lines == ("USUAL",)


async def test_the_trigger_characters_of_all_providers_are_combined() -> None:
    made, _ = completing()
    made.add(SimpleNamespace(trigger_characters=["#", "~"]))

    assert made.provider.trigger_characters == "#~@"
    assert made.provider.should_trigger_file_completion([""], 0, 0) is False


async def test_a_provider_that_fails_is_reported_and_not_called_again() -> None:
    made, reported = completing()
    made.add(Words(ValueError("no idea")))

    answers = [await made.provider.get_suggestions(["u"], 0, 1, force=False) for _ in range(2)]

    assert (answers, reported) == ([FOUND, FOUND], ["no idea"])


def test_a_provider_that_fails_to_decide_about_tab_does_not_prevent_completion() -> None:
    def decide(lines: Sequence[str], row: int, col: int) -> bool:
        raise ValueError("no idea")

    reported: list[str] = []
    made = ExtensionCompletion(lambda error: reported.append(str(error)))
    made.add(SimpleNamespace(should_trigger_file_completion=decide))

    answers = [made.provider.should_trigger_file_completion([""], 0, 0) for _ in range(2)]

    assert (answers, reported) == ([True, True], ["no idea"])


async def test_a_provider_applies_its_own_suggestions() -> None:
    class Own(Words):
        def apply_completion(self, *arguments: Any) -> Any:
            if arguments[3].value == "bad":
                raise ValueError("cannot")
            return SimpleNamespace(lines=["mine"], row=0, col=4)

    made, reported = completing()
    made.add(Own({"items": ["x"], "prefix": ""}))
    await made.provider.get_suggestions([""], 0, 0, force=True)

    applied = [
        made.provider.apply_completion([""], 0, 0, Suggestion(value=value), "")
        for value in ("x", "bad")
    ]

    assert applied == [
        Completed(lines=("mine",), row=0, col=4),
        Completed(lines=("bad",), row=0, col=3),
    ]
    assert reported == ["cannot"]
