"""Numbers for single models."""

from __future__ import annotations

import msgspec

from pi.ai.providers.faux import FAUX_MODEL
from pi.coding.compaction.options import CompactionOptions


def test_an_override_counts_field_by_field_and_for_its_model_only() -> None:
    raw = {
        "reserveTokens": 1,
        "modelOverrides": {
            "faux/faux": {"keepRecentTokens": 5},
            "faux/other": {"reserveTokens": 9},
        },
    }
    options = msgspec.convert(raw, CompactionOptions).for_model(FAUX_MODEL)

    assert (options.reserve_tokens, options.keep_recent_tokens) == (1, 5)


def test_what_is_off_does_nothing_by_itself() -> None:
    assert CompactionOptions().automatic
    assert not CompactionOptions(enabled=False).automatic
    assert not CompactionOptions(strategy="off").automatic
