from __future__ import annotations

from typing import Any

import pytest

from pi.batteries.status_engine.config import SETTING, StatusEngineConfig, declare, read_config


class Chosen:
    """``pi.settings``, with the user's values of ``tui.statusEngine``."""

    def __init__(self, chosen: Any) -> None:
        self._chosen = chosen
        self._defaults: dict[str, Any] = {}

    def declare(self, key: str, kind: type[Any], default: Any, help: str = "") -> None:
        assert help
        self._defaults[key] = default

    def get(self, key: str) -> Any:
        if key == SETTING:
            return self._chosen
        name = key.removeprefix(f"{SETTING}.")
        chosen = self._chosen if isinstance(self._chosen, dict) else {}
        return chosen.get(name, self._defaults[key])


def read(chosen: Any) -> tuple[StatusEngineConfig, tuple[str, ...]]:
    settings = Chosen(chosen)
    declare(settings)
    return read_config(settings)


@pytest.mark.parametrize(
    ("chosen", "enabled"),
    [
        (None, False),
        (False, False),
        ("yes", False),
        (True, True),
        ({}, True),
        ({"enabled": True}, True),
        ({"enabled": False}, False),
    ],
)
def test_the_engine_is_off_by_default(chosen: Any, enabled: bool) -> None:
    assert read(chosen) == (StatusEngineConfig(enabled=enabled), ())


def test_all_settings_are_parsed() -> None:
    chosen = {
        "items": ["git_branch", "duration"],
        "provider": "command",
        "command": "~/.claude/statusline.sh",
        "commandTimeoutMs": 500,
        "refreshMs": 1000,
        "file": "~/status",
    }

    assert read(chosen) == (
        StatusEngineConfig(
            enabled=True,
            items=("git_branch", "duration"),
            provider="command",
            command="~/.claude/statusline.sh",
            command_timeout_ms=500,
            refresh_ms=1000,
            file="~/status",
        ),
        (),
    )


def test_unknown_values_are_reported_and_the_valid_ones_are_used() -> None:
    config, problems = read({"items": ["model", "weather"], "provider": "oracle"})

    assert (config.items, config.provider) == (("model",), None)
    assert problems == (
        "tui.statusEngine.provider is 'oracle'; expected one of command, file, builtin.",
        "tui.statusEngine.items names 'weather'; there are model, effort, workspace_name,"
        " git_branch, git_counts, sandbox, approval, duration.",
    )


@pytest.mark.parametrize(("asked", "given"), [(0, 50), (350, 350), (60_000, 10_000)])
def test_a_timeout_is_clamped(asked: int, given: int) -> None:
    assert read({"commandTimeoutMs": asked})[0].command_timeout_ms == given


def test_a_negative_refresh_interval_is_zero() -> None:
    assert read({"refreshMs": -5})[0].refresh_ms == 0


@pytest.mark.parametrize(
    ("config", "command", "file"),
    [
        (StatusEngineConfig(command="x", file="y"), False, True),
        (StatusEngineConfig(provider="builtin", command="x", file="y"), False, False),
        (StatusEngineConfig(provider="command", command="x", file="y"), True, True),
        (StatusEngineConfig(provider="command", command="x"), True, False),
        (StatusEngineConfig(provider="command", file="y"), False, True),
        (StatusEngineConfig(provider="file", command="x", file="y"), False, True),
    ],
)
def test_a_command_is_run_only_if_its_provider_is_selected(
    config: StatusEngineConfig, command: bool, file: bool
) -> None:
    assert (config.wants_command, config.wants_file) == (command, file)
