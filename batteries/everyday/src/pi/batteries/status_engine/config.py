"""The user's configuration: ``tui.statusEngine`` of ``settings.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias, get_args

from pi.batteries.status_engine.items import CATALOGUE, DEFAULT_ITEMS, StatusItem
from pi.extension import Record

Provider: TypeAlias = Literal["command", "file", "builtin"]

SETTING = "tui.statusEngine"
MIN_TIMEOUT_MS, MAX_TIMEOUT_MS = 50, 10_000
"""Limits of the command timeout; typical values are 150 to 500."""


class StatusEngineConfig(Record):
    """Configuration of the status lines."""

    enabled: bool = False
    items: tuple[StatusItem, ...] = DEFAULT_ITEMS
    """The items of line 2, in order."""
    provider: Provider | None = None
    """The source of line 3. Unset: the file, if one is configured."""
    command: str = ""
    """A program, or a shell command line."""
    command_timeout_ms: int = 350
    refresh_ms: int = 0
    """Interval for running the command without an event; 0 turns it off."""
    file: str = ""

    @property
    def wants_command(self) -> bool:
        """Whether line 3 comes from the command."""
        return self.provider == "command" and bool(self.command)

    @property
    def wants_file(self) -> bool:
        """Whether line 3 comes from the file, at least until the command has returned a line."""
        return self.provider != "builtin" and bool(self.file)


class Settings(Protocol):
    """The part of ``pi.settings`` that is used here."""

    def declare(self, key: str, kind: type[Any], default: Any, help: str = "") -> None:
        """Declare a setting."""
        ...

    def get(self, key: str) -> Any:
        """Return its value, or the default."""
        ...


def declare(settings: Settings) -> None:
    """Declare all settings of the status engine."""
    usual = StatusEngineConfig()
    for key, kind, default, help in (
        ("items", list[str], list(usual.items), "items of line 2, in order"),
        ("provider", str, "", "where line 3 comes from: command, file or builtin"),
        ("command", str, usual.command, "command for line 3; it reads JSON from stdin"),
        (
            "commandTimeoutMs",
            int,
            usual.command_timeout_ms,
            "timeout of the command in milliseconds",
        ),
        ("refreshMs", int, usual.refresh_ms, "interval for running the command without an event"),
        ("file", str, usual.file, "a file whose first line is line 3"),
    ):
        settings.declare(f"{SETTING}.{key}", kind, default, help)


def read_config(settings: Settings) -> tuple[StatusEngineConfig, tuple[str, ...]]:
    """Return the configuration, and a message for each invalid value."""

    def value(key: str) -> Any:
        return settings.get(f"{SETTING}.{key}")

    provider, items = value("provider"), value("items")
    timeout = min(max(value("commandTimeoutMs"), MIN_TIMEOUT_MS), MAX_TIMEOUT_MS)
    config = StatusEngineConfig(
        enabled=_is_on(settings.get(SETTING)),
        items=tuple(item for item in items if item in CATALOGUE),
        provider=provider if provider in get_args(Provider) else None,
        command=value("command"),
        command_timeout_ms=timeout,
        refresh_ms=max(value("refreshMs"), 0),
        file=value("file"),
    )
    return config, tuple(_find_problems(provider, items))


def _is_on(setting: object) -> bool:
    """True for ``true`` and for an object without ``"enabled": false``."""
    if isinstance(setting, Mapping):
        return setting.get("enabled", True) is True
    return setting is True


def _find_problems(provider: str, items: list[str]) -> list[str]:
    problems = []
    if provider and provider not in get_args(Provider):
        providers = ", ".join(get_args(Provider))
        problems.append(f"{SETTING}.provider is {provider!r}; expected one of {providers}.")
    if unknown := [item for item in items if item not in CATALOGUE]:
        named = ", ".join(map(repr, unknown))
        problems.append(f"{SETTING}.items names {named}; there are {', '.join(CATALOGUE)}.")
    return problems
