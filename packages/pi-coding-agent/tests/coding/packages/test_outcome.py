from __future__ import annotations

import pytest

from pi.coding.packages.staging import Change, Outcome, reason_to_skip


def here(change: Change, version: str) -> Outcome:
    return Outcome(change=change, before=version, after=version)


@pytest.mark.behaviour("package-installs-are-contained")
@pytest.mark.parametrize(
    ("installed", "available", "pinned", "newer", "force", "outcome"),
    [
        ("", "1", False, True, False, None),
        ("1", "2", False, True, False, None),
        ("1", "1", False, False, False, here("current", "1")),
        ("2", "1", False, False, False, here("kept", "2")),
        ("2", "1", True, False, False, None),
        ("1", "1", False, False, True, None),
        ("2", "1", False, False, True, here("kept", "2")),
    ],
)
def test_only_a_pinned_version_may_downgrade(
    installed: str, available: str, pinned: bool, newer: bool, force: bool, outcome: Outcome | None
) -> None:
    assert reason_to_skip(installed, available, pinned=pinned, newer=newer, force=force) == outcome
