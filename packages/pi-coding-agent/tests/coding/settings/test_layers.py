"""Old spellings and layers."""

from __future__ import annotations

import pytest

from pi.ai.messages import Json
from pi.coding.settings.layers import merge_layers, migrated, value_at, with_value


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"queueMode": "all"}, {"steeringMode": "all"}),
        ({"queueMode": "all", "steeringMode": "one-at-a-time"}, {"steeringMode": "one-at-a-time"}),
        ({"websockets": True}, {"transport": "websocket"}),
        ({"websockets": False}, {}),
        (
            {"skills": {"enableSkillCommands": False, "customDirectories": ["a"]}},
            {"enableSkillCommands": False, "skills": ["a"]},
        ),
        ({"retry": {"maxDelayMs": 5}}, {"retry": {"provider": {"maxRetryDelayMs": 5}}}),
        ({"theme": "dark", "unknown": 1}, {"theme": "dark", "unknown": 1}),
    ],
)
def test_settings_of_older_versions_are_migrated(old: Json, new: Json) -> None:
    assert migrated(old) == new


@pytest.mark.behaviour("project-settings-merge")
def test_objects_merge_and_the_upper_layer_wins() -> None:
    below = {"compaction": {"enabled": True, "reserveTokens": 1}, "theme": "dark"}
    above = {"compaction": {"reserveTokens": 2}, "theme": "light"}

    assert merge_layers(below, above) == {
        "compaction": {"enabled": True, "reserveTokens": 2},
        "theme": "light",
    }


def test_resource_lists_are_concatenated_and_other_lists_are_replaced() -> None:
    below = {"skills": ["a"], "enabledModels": ["x"]}
    above = {"skills": ["b"], "enabledModels": ["y"]}

    assert merge_layers(below, above) == {"skills": ["a", "b"], "enabledModels": ["y"]}


def test_one_value_is_set_and_nothing_else_changes() -> None:
    raw = {"a": {"b": 1, "c": 2}, "d": 3}

    assert with_value(raw, ("a", "b"), 9) == {"a": {"b": 9, "c": 2}, "d": 3}
    assert with_value(raw, ("a", "b"), None) == {"a": {"c": 2}, "d": 3}
    assert with_value({}, ("x", "y"), 1) == {"x": {"y": 1}}
    assert raw == {"a": {"b": 1, "c": 2}, "d": 3}


def test_the_value_at_an_unknown_path_is_none() -> None:
    assert value_at({"a": {"b": 1}}, ("a", "b")) == 1
    assert value_at({"a": 1}, ("a", "b")) is None
