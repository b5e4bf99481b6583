from __future__ import annotations

from typing import Any, Literal, get_args

import pytest

from pi.base.clock import IdFactory, SystemClock
from pi.coding.extension_host.discovery.manifest import (
    Manifest,
    SessionTriggers,
    ToolManifest,
    can_defer,
    depends_on_session,
    is_triggered,
    loads_at_start,
    supports_mode,
)
from pi.coding.port.ui import Mode
from pi.coding.session.entries import Custom, CustomMessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session
from pi.coding.settings.settings import Settings


def waiting_for(*triggers: str) -> Manifest:
    return Manifest(activate=triggers)


def session() -> SessionLog:
    stamps = IdFactory(SystemClock(), bytes)
    return new_session(
        SessionLocation(directory=None, cwd="/home/ada/project", report=print, stamps=stamps)
    )


def triggers(**given: Any) -> SessionTriggers:
    return SessionTriggers(**{"log": session(), "settings": Settings.in_memory(), **given})


@pytest.mark.parametrize(
    ("triggers", "expected"),
    [
        ((), True),
        (("startup",), True),
        (("command:x", "session"), True),
        (("flag:budget",), True),
        (("flag:other",), False),
        (("mode:json",), True),
        (("mode:interactive", "mode:rpc"), False),
        (("command:x", "event:input", "tool:x", "scheme:x", "entry:x", "setting:x"), False),
    ],
)
def test_triggers_known_at_the_start_decide(triggers: tuple[str, ...], expected: bool) -> None:
    assert loads_at_start(waiting_for(*triggers), {"budget": "15m"}, "json") is expected


@pytest.mark.parametrize(
    ("manifest", "sleeps"),
    [
        (waiting_for("command:x", "entry:x", "setting:x", "flag:other", "mode:rpc"), True),
        (Manifest(modes=("interactive",)), True),
        (Manifest(), False),
        (waiting_for("command:x", "flag:budget"), False),
        (waiting_for("command:x", "event:input"), False),
        (waiting_for("tool:bash"), False),
        (waiting_for("scheme:x"), False),
        (Manifest(activate=("command:x",), tools={"x": ToolManifest(description="X")}), False),
    ],
)
def test_an_extension_without_early_triggers_can_be_deferred(
    manifest: Manifest, sleeps: bool
) -> None:
    assert can_defer(manifest, {"budget": "15m"}, "print") is sleeps


def test_the_screen_is_the_interactive_mode() -> None:
    assert loads_at_start(waiting_for("mode:interactive"), {}, "tui")


def test_an_extension_can_be_for_some_modes_alone() -> None:
    manifest = Manifest(modes=("interactive", "json"))

    assert [supports_mode(manifest, mode) for mode in get_args(Mode)] == [True, False, True, False]
    assert all(supports_mode(Manifest(), mode) for mode in get_args(Mode))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"tui": {"line": {"items": []}}}, True),
        ({"tui": {"line": True}}, True),
        ({"tui": {"line": False}}, False),
        ({"tui": {"line": None}}, False),
        ({"tui": {}}, False),
        ({"tui": 3}, False),
    ],
)
def test_a_setting_with_a_value_is_a_trigger(raw: dict[str, object], expected: bool) -> None:
    manifest = waiting_for("setting:tui.line")

    assert depends_on_session(manifest)
    assert is_triggered(triggers(settings=Settings.in_memory(raw)), manifest) is expected


@pytest.mark.parametrize(("kind", "expected"), [("todo", True), ("other", False)])
def test_a_custom_entry_is_a_trigger(kind: Literal["todo", "other"], expected: bool) -> None:
    log = session()
    log.append(CustomMessageEntry(custom_type="todo", content="said to the model"))
    log.append(Custom(custom_type=kind, data={"left": 3}))

    manifest = waiting_for("entry:todo")

    assert depends_on_session(manifest)
    assert is_triggered(triggers(log=log), manifest) is expected


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("0", True), ("", False)])
def test_a_variable_with_a_value_is_a_trigger(value: str, expected: bool) -> None:
    manifest = waiting_for("variable:PI_PY")

    assert depends_on_session(manifest)
    assert is_triggered(triggers(environ={"PI_PY": value}), manifest) is expected


@pytest.mark.parametrize(("tools", "expected"), [(("read", "python"), True), (("read",), False)])
def test_a_selected_tool_is_a_trigger(tools: tuple[str, ...], expected: bool) -> None:
    manifest = waiting_for("selected:python")

    assert depends_on_session(manifest)
    assert is_triggered(triggers(selected_tools=tools), manifest) is expected


def test_triggers_of_use_do_not_depend_on_the_session() -> None:
    assert not depends_on_session(waiting_for("command:x", "flag:y"))
