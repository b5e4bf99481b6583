"""The checks of the settings in ``pi doctor``: each topic once through the real program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.cli.settings_check import SettingsCheck
from pi.coding.runtime.extensions.sources import strategies_in
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.models import discover_models
from pi.coding.settings.settings import Settings
from tests.cli.program import Ended, Program


def doctor(folder: Path, settings: Any, *, project: Any = None) -> Ended:
    cli = Program.below(folder, PI_OFFLINE="1")
    cli.write("settings.json", json.dumps(settings))
    if project is not None:
        cli.write("trust.json", json.dumps({str(cli.cwd.resolve()): True}))
        (cli.cwd / ".pi").mkdir()
        (cli.cwd / ".pi" / "settings.json").write_text(json.dumps(project))
    return cli.run("doctor")


async def findings(folder: Path, settings: Any) -> tuple[str, bool]:
    """The lines of the check without columns, as ``reported``, and whether something is broken."""
    cli = Program.below(folder, PI_OFFLINE="1")
    cli.write("settings.json", json.dumps(settings))
    host = Machine.from_environ(cli.variables)
    loaded = Settings.of(host.agent_dir, cli.cwd, trusted=False, clock=host.clock)
    registry = discover_models(host, cli.cwd)
    strategies = strategies_in(host, cli.cwd, loaded)
    locations: Any = {"agent_dir": host.agent_dir, "cwd": cli.cwd, "trusted": False}
    problems = list(SettingsCheck(loaded, registry, strategies=strategies, **locations).problems())
    await registry.models.close()
    lines = [
        f"settings {problem.text}" + f"\n→ {problem.advice}" * bool(problem.advice)
        for problem in problems
    ]
    return "\n".join(lines), any(problem.severity == "broken" for problem in problems)


def reported(ended: Ended) -> str:
    """The lines about settings and the advice below them, without columns."""
    lines, on = [], False
    for line in ended.out.splitlines():
        on = line[2:].startswith("settings") or (on and line.startswith("  "))
        if on:
            lines.append(" ".join(line.split()))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("settings", "key", "advice"),
    [
        ({"compation": {"enabled": False}}, "compation", 'Did you mean "compaction"?'),
        ({"quietStratup": True}, "quietStratup", 'Did you mean "quietStartup"?'),
        (
            {"compaction": {"reserveToken": 5}},
            "compaction.reserveToken",
            'Did you mean "compaction.reserveTokens"?',
        ),
        ({"reserveTokens": 5}, "reserveTokens", 'Did you mean "compaction.reserveTokens"?'),
        (
            {"bash": {"autoBackground": {"tresholdMs": 5}}},
            "bash.autoBackground.tresholdMs",
            'Did you mean "bash.autoBackground.thresholdMs"?',
        ),
        ({"myTool": {"a": 1}}, "myTool", "Remove it, unless an extension reads it."),
    ],
)
async def test_an_unknown_key_is_named_with_the_nearest_one(
    tmp_path: Path, settings: Any, key: str, advice: str
) -> None:
    text, is_broken = await findings(tmp_path, settings)

    path = tmp_path / "home" / ".pi" / "agent" / "settings.json"
    assert f'settings unknown key "{key}" in {path}\n→ {advice}' in text
    assert not is_broken


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"collapseChangelog": 1}, '"collapseChangelog": expected `bool`, got 1'),
        ({"tui": {"maxInlineImages": -2}}, '"tui.maxInlineImages": expected `int` >= 0, got -2'),
        ({"bash": {"extended": "yes"}}, '"bash.extended": expected `bool`, got "yes"'),
        ({"async": True}, '"async": expected an object, got true'),
        ({"retry": {"provider": {"timeoutMs": "x"}}}, '"retry.provider.timeoutMs": expected'),
        ({"retry": {"maxRetries": -1}}, '"retry.maxRetries": expected `int` >= 0, got -1'),
        ({"share": {"command": "gh"}}, '"share.command": expected `array`'),
        ({"tui": {"statusEngine": {"items": 4}}}, "expected a list of strings, got 4"),
        (
            {"bashInterceptor": {"rules": [{"pattern": "(", "tool": "t", "message": "m"}]}},
            '"(" is not a regular expression',
        ),
    ],
)
async def test_an_invalid_value_is_named(tmp_path: Path, settings: Any, text: str) -> None:
    report, is_broken = await findings(tmp_path, settings)

    assert text in report
    assert is_broken


def test_doctor_prints_all_problems_and_fails_for_an_invalid_value(tmp_path: Path) -> None:
    settings = {
        "compation": {"enabled": False},
        "collapseChangelog": 1,
        "theme": "drak",
        "enableAnalytics": True,
    }

    ended = doctor(tmp_path, settings)

    text = reported(ended)
    assert '"collapseChangelog": expected `bool`, got 1' in text
    assert 'Did you mean "compaction"?' in text
    assert 'unknown theme "drak"\n→ Did you mean dark?' in text
    assert '"enableAnalytics" in' in text and "has no effect: pi sends no tele" in text
    assert ended.code == 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"compaction": {"strategy": "shak"}},
            'unknown strategy "shak"; context-full is used instead\n→ Did you mean shake?',
        ),
        ({"theme": "light/drak"}, 'unknown theme "drak"\n→ Did you mean dark?'),
        ({"defaultTools": ["raed", "ls"]}, 'unknown tool "raed"\n→ Did you mean read?'),
        ({"defaultProvider": "opnai"}, 'unknown provider "opnai"\n→ Did you mean openai?'),
        (
            {"defaultProvider": "openai", "defaultModel": "gtp-5"},
            'no known model matches "openai/gtp-5"\n→ Did you mean openai/gpt-5?',
        ),
        ({"enabledModels": ["gpt-5*", "zzz*"]}, 'enabledModels: no known model matches "zzz*"'),
        (
            {"compaction": {"fallbackModels": ["zzz"]}},
            'fallbackModels: no known model matches "zzz"',
        ),
        ({"modelThinkingLevels": {"zzz/z": "high"}}, 'no known model matches "zzz/z"'),
    ],
)
async def test_a_name_that_does_not_exist_is_named(
    tmp_path: Path, settings: Any, text: str
) -> None:
    report, _ = await findings(tmp_path, settings)

    assert text in report


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"enableAnalytics": True}, '"enableAnalytics" in FILE has no effect: pi sends no tele'),
        ({"terminal": {"clearOnShrink": True}}, '"terminal.clearOnShrink" in FILE has no effect'),
        ({"bash": {"session": False}}, "has no effect: bash.extended is off"),
        (
            {"bash": {"extended": True, "autoBackground": {"enabled": True}}},
            "has no effect: async.enabled is off\n→ Set async.enabled to true.",
        ),
    ],
)
async def test_a_setting_without_effect_is_named(tmp_path: Path, settings: Any, text: str) -> None:
    report, is_broken = await findings(tmp_path, settings)

    file = str(tmp_path / "home" / ".pi" / "agent" / "settings.json")
    assert text in report.replace(file, "FILE")
    assert not is_broken


def test_settings_of_a_trusted_project_are_checked(tmp_path: Path) -> None:
    project = {"httpProxy": "http://x", "tuiMode": "fullscreen", "bash": {"enabled": 3}}

    text = reported(doctor(tmp_path, {}, project=project))

    file = tmp_path / "work" / ".pi" / "settings.json"
    for name in ("httpProxy", "tuiMode"):
        assert f'"{name}" in {file} has no effect: a project cannot set it' in text
    assert f'"bash.enabled": expected `bool`, got 3 in {file}' in text


def test_valid_settings_are_reported_as_valid(tmp_path: Path) -> None:
    settings = {
        "theme": "light/dark",
        "bash": {"extended": True},
        "async": {"enabled": True},
        "defaultProvider": "openai",
        "defaultModel": "gpt-5",
        "enabledModels": ["anthropic/*", "ollama/whatever"],
        "compaction": {"strategy": "shake", "thresholdPercent": 82.5},
        "tui": {"statusEngine": {"items": ["model"]}, "maxInlineImages": 3},
        "packages": [],
        "lastChangelogVersion": "0.1.0",
    }

    assert reported(doctor(tmp_path, settings)) == "✓ settings 10 values, all valid"


async def test_unknown_names_of_the_status_lines_are_reported(tmp_path: Path) -> None:
    status = {"items": ["model", "git_brnch", "weather"], "provider": "comand"}

    text, _ = await findings(tmp_path, {"tui": {"statusEngine": status}})

    assert 'tui.statusEngine.items: unknown name "git_brnch"' in text
    assert 'Did you mean "git_branch"?' in text or "git_branch" in text
    assert 'tui.statusEngine.items: unknown name "weather"\n→ Known: model, effort, ' in text
    assert 'tui.statusEngine.provider: unknown name "comand"' in text
    assert "may add others" not in text
    assert '"model"' not in text
