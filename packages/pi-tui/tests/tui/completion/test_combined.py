from __future__ import annotations

from pathlib import Path

from pi.tui.completion.provider import Completed
from pi.tui.completion.sources import CombinedProvider, Command, CommandProvider, PathProvider


def listing(folder: Path) -> list[str]:
    return ["tmpfile"]


COMBINED = CombinedProvider(
    [
        CommandProvider(lambda: [Command(name="new")]),
        PathProvider(lambda: Path("/w"), Path("/h"), listing=listing),
    ]
)


async def test_the_first_provider_with_suggestions_is_used_and_applies_the_completion() -> None:
    for line, after in (("/n", "/new "), ("see t", "see tmpfile")):
        found = await COMBINED.get_suggestions([line], 0, len(line), force=True)
        assert found is not None
        done = COMBINED.apply_completion([line], 0, len(line), found.items[0], found.prefix)
        assert done == Completed(lines=(after,), row=0, col=len(after))


async def test_the_result_is_none_if_no_provider_has_suggestions() -> None:
    assert await COMBINED.get_suggestions(["hello"], 0, 5, force=False) is None


def test_trigger_characters_are_combined_and_file_completion_needs_every_provider() -> None:
    assert COMBINED.trigger_characters == "/"
    assert COMBINED.should_trigger_file_completion(["/n"], 0, 2) is False
    assert COMBINED.should_trigger_file_completion(["a"], 0, 1) is True
