"""The ways to switch a battery: each changes the settings, and most also the session that runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from tests.journeys.batteries import Battery
from tests.journeys.doors import Door, RpcDoor, TerminalDoor
from tests.journeys.home import Home
from tests.journeys.terminal import DOWN, ENTER, ESCAPE, Terminal

CTRL_U = "\x15"
LOSS = "definitions of yours, which would be lost"
Switch = Callable[[Door, Battery, bool], None]
"""Switches a battery on (``True``) or off through the session behind a door, or beside it."""


def by_shell(door: Door, battery: Battery, on: bool) -> None:
    """``pi extensions on NAME [VALUE]``; a session on a terminal follows with ``/reload``."""
    words = ["on", battery.name, *battery.typed] if on else ["off", battery.name]
    ended = door.journey.pi("extensions", *words)
    if _is_refused(battery, on=on):
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
    answer = door.types_command(f"/extensions {words}")
    if _is_refused(battery, on=on):
        assert LOSS in " ".join(answer.split()), answer
        by_file(door, battery, on)
        return
    assert f"{battery.name} is {'on' if on else 'off'}" in answer, answer


def by_list(door: Door, battery: Battery, on: bool) -> None:
    """``/extensions``: the name is searched, Space switches, and a value is typed or chosen."""
    user = cast(TerminalDoor, door).user
    if on and battery.off is False:
        by_file(door, battery, False)  # a file switches it on, too
    user.submits("/extensions")
    user.shows("Space switch")
    user.types(battery.name)
    user.shows(f"> {battery.name}")
    user.types(" ")
    if on and battery.row["asks"]:
        user.shows(f"{battery.name}: ")
        _enter_value(user, battery.stored)
    user.shows(f"{battery.name} is {'on' if on else 'off'}")
    user.types(ESCAPE)
    user.loses("Space switch")


def by_settings(door: Door, battery: Battery, on: bool) -> None:
    """``/settings``: the setting is searched by its name, and its value typed or chosen."""
    user, row = cast(TerminalDoor, door).user, battery.row
    user.submits("/settings")
    user.shows("Type to search")
    user.types(row["setting"])
    user.shows(f"> {row['setting']}", f"({row['setting']})")
    is_cycled = len(row["choices"]) in (2, 3)
    sentence = f"{battery.name} is {'on' if on else 'off'}"
    for _ in range(2):  # a choice of three has two values that switch it on
        user.types(ENTER)
        if not is_cycled:
            user.shows("Escape cancel")
            _enter_value(user, _value(battery, on=on))
            user.shows(sentence)
        if sentence in _settled(door):
            break
    assert sentence in user.screen, user.screen
    user.types(ESCAPE)
    user.loses("Escape close")


def _value(battery: Battery, *, on: bool) -> object:
    """The value that a user types or chooses; ``None`` empties the field."""
    if on:
        return battery.stored
    return battery.row["choices"][0] if battery.row["choices"] else battery.off


def _settled(door: Door) -> str:
    return cast(TerminalDoor, door).settles()


def _enter_value(user: Terminal, value: object) -> None:
    """Choose a value in the open list, or type it into the open field; ``None`` empties that."""
    user.settles()
    if "Enter choose" in user.screen:
        for _ in range(10):
            if f"→ {value or 'context-full'}" in user.screen:
                break
            user.types(DOWN)
            user.settles()
    else:
        text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
        user.types(CTRL_U + text)
        user.settles()
    user.types(ENTER)


def _is_refused(battery: Battery, *, on: bool) -> bool:
    """Whether a switch refuses, because it would delete what a user wrote."""
    return battery.has_definitions and not on


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
    if keep and _is_refused(battery, on=on):
        refusal = client.ask("set_extension", name=battery.name, enabled=False, keep=True)
        assert LOSS in refusal["error"], refusal
        keep = False
    answer = client.request("set_extension", name=battery.name, enabled=on, keep=keep, **fields)
    state = answer["extension"]["state"]
    assert state == ("off" if not on else "on" if keep else "session"), answer
    assert answer["message"].startswith(f"{battery.name} is {'on' if on else 'off'}"), answer


def _reload(door: Door) -> None:
    if isinstance(door, TerminalDoor):
        door.types_command("/reload")
