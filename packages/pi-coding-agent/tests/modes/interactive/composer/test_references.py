from __future__ import annotations

from collections.abc import Sequence

import pytest

from pi.modes.interactive.composer.completion import ReferenceProvider
from pi.tui.completion.provider import Completed


async def complete(typed: str) -> Sequence[str]:
    return ["rule://style", "rule://two words"] if typed.startswith("rule://") else ()


@pytest.mark.parametrize(
    ("line", "values", "prefix"),
    [
        ("see rule://", ("rule://style", '"rule://two words"'), "rule://"),
        ("see @rule://st", ("@rule://style",), "@rule://st"),
    ],
)
async def test_a_reference_is_completed_with_or_without_an_at_sign(
    line: str, values: tuple[str, ...], prefix: str
) -> None:
    provider = ReferenceProvider(complete)
    suggestions = await provider.get_suggestions([line], 0, len(line), force=True)

    assert suggestions is not None
    assert (tuple(item.value for item in suggestions.items), suggestions.prefix) == (values, prefix)
    assert provider.apply_completion(
        [line], 0, len(line), suggestions.items[0], prefix
    ) == Completed(lines=(f"see {values[0]}",), row=0, col=len(f"see {values[0]}"))


@pytest.mark.parametrize("line", ["", "see", "see @src/a", "see http://x"])
async def test_text_without_a_reference_is_left_to_other_providers(line: str) -> None:
    provider = ReferenceProvider(complete)

    assert await provider.get_suggestions([line], 0, len(line), force=True) is None
    assert provider.should_trigger_file_completion([line], 0, len(line))
    assert provider.trigger_characters == ""
