"""The ways to switch a battery: each changes the settings, and most also the session that runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from tests.journeys.batteries import Battery
from tests.journeys.doors import Door, RpcDoor, TerminalDoor
from tests.journeys.home import Home

LOSS = "definitions of yours, which would be lost"
Switch = Callable[[Door, Battery, bool], None]
"""Switches a battery on (``True``) or off through the session behind a door, or beside it."""


def by_shell(door: Door, battery: Battery, on: bool) -> None:
    """``pi extensions on NAME [VALUE]``; a session on a terminal follows with ``/reload``."""
    words = ["on", battery.name, *battery.typed] if on else ["off", battery.name]
    ended = door.journey.pi("extensions", *words)
    if battery.has_definitions and not on:
        assert ended.code == 1, ended
        assert LOSS in ended.err, ended
        by_file(door, battery, on)
        return
    assert (ended.code, ended.err) == (0, ""), ended
    assert ended.out.startswith(f"{battery.name} is {'on' if on else 'off'}"), ended.out
    _reload(door)


def by_file(door: Door, battery: Battery, on: bool) -> None:
    """An editor changes ``settings.json``; a session on a terminal follows with ``/reload``."""
    store(door.journey.home, battery.row["setting"], battery.stored if on else battery.off)
    _reload(door)


def by_rpc(door: Door, battery: Battery, on: bool) -> None:
    """A program switches it and keeps that."""
    _by_rpc(door, battery, on, keep=True)


def by_rpc_for_the_session(door: Door, battery: Battery, on: bool) -> None:
    """A program switches it for the session that runs."""
    _by_rpc(door, battery, on, keep=False)


def by_command(door: Door, battery: Battery, on: bool) -> None:
    """``/extensions on NAME [VALUE]``."""
    words = " ".join(["on", battery.name, *battery.typed] if on else ["off", battery.name])
    answer = cast(TerminalDoor, door).types_command(f"/extensions {words}")
    assert f"{battery.name} is {'on' if on else 'off'}" in answer, answer


def store(home: Home, name: str, value: object) -> None:
    """Change one value of ``settings.json`` by its dotted name; ``None`` removes it."""
    settings = home.settings
    *above, last = name.split(".")
    values = settings
    for part in above:
        values = values.setdefault(part, {})
    if value is None:
        values.pop(last, None)
    else:
        values[last] = value
    home.write("settings.json", json.dumps(settings))


def stored(home: Home, name: str) -> object:
    """Return one value of ``settings.json`` by its dotted name."""
    values: Any = home.settings
    for part in name.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


def _by_rpc(door: Door, battery: Battery, on: bool, *, keep: bool) -> None:
    fields = {"value": battery.value} if on and battery.value is not None else {}
    client = cast(RpcDoor, door).client
    if battery.has_definitions and keep and not on:
        refusal = client.ask("set_extension", name=battery.name, enabled=False)
        assert LOSS in refusal["error"], refusal
        keep = False
    answer = client.request("set_extension", name=battery.name, enabled=on, keep=keep, **fields)
    state = answer["extension"]["state"]
    assert state == ("off" if not on else "on" if keep else "session"), answer
    assert answer["message"].startswith(f"{battery.name} is {'on' if on else 'off'}"), answer


def _reload(door: Door) -> None:
    if isinstance(door, TerminalDoor):
        door.types_command("/reload")
