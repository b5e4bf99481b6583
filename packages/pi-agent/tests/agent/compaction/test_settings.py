from __future__ import annotations

import msgspec

from pi.agent.compaction.budget import CompactionSettings


def test_the_json_keys_and_defaults_are_those_of_the_settings_file() -> None:
    assert msgspec.to_builtins(CompactionSettings()) == {
        "reserveTokens": 16384,
        "keepRecentTokens": 20000,
        "thresholdPercent": -1,
        "thresholdTokens": -1,
        "reservePercent": 0,
        "adaptiveKeep": False,
        "fileTree": False,
        "shortSummary": False,
    }
