from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import pytest

from pi.base.clock import IdFactory, SystemClock
from pi.base.records import replace
from pi.coding.extension_host.discovery.manifest import (
    ActivationState,
    Manifest,
    ToolManifest,
    active_gates,
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


def waiting_for(*triggers: str) -> Manifest:
    return Manifest(activate=triggers)


HERE = ActivationState(
    cwd=Path("/home/ada/project"),
    home=Path("/home/ada"),
    agent_dir=Path("/home/ada/.pi/agent"),
    environ={},
    settings={},
)


def session() -> SessionLog:
    stamps = IdFactory(SystemClock(), bytes)
    return new_session(
        SessionLocation(directory=None, cwd="/home/ada/project", report=print, stamps=stamps)
    )


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
        (("command:x", "event:input", "tool:x", "entry:x", "setting:x"), False),
    ],
)
def test_only_triggers_known_at_the_start_load_an_extension_at_the_start(
    triggers: tuple[str, ...], expected: bool
) -> None:
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
        (Manifest(activate=("command:x",), tools={"x": ToolManifest(description="X")}), False),
    ],
)
def test_an_extension_without_early_triggers_can_be_deferred(
    manifest: Manifest, sleeps: bool
) -> None:
    assert can_defer(manifest, {"budget": "15m"}, "print") is sleeps


def test_the_interactive_mode_trigger_applies_to_the_tui() -> None:
    assert loads_at_start(waiting_for("mode:interactive"), {}, "tui")


def test_an_extension_can_be_limited_to_some_modes() -> None:
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
    assert is_triggered(manifest, replace(HERE, settings=raw)) is expected


@pytest.mark.parametrize(("kind", "expected"), [("todo", True), ("other", False)])
def test_a_custom_entry_is_a_trigger(kind: Literal["todo", "other"], expected: bool) -> None:
    log = session()
    log.append(CustomMessageEntry(custom_type="todo", content="said to the model"))
    log.append(Custom(custom_type=kind, data={"left": 3}))

    manifest = waiting_for("entry:todo")

    assert depends_on_session(manifest)
    assert is_triggered(manifest, replace(HERE, entry_types=log.custom_types())) is expected


@pytest.mark.parametrize(("selected", "expected"), [({"read", "todo"}, True), ({"read"}, False)])
def test_a_tool_that_is_selected_by_name_is_a_trigger(selected: set[str], expected: bool) -> None:
    manifest = waiting_for("selected:todo")

    assert depends_on_session(manifest)
    assert is_triggered(manifest, replace(HERE, selected=frozenset(selected))) is expected


def test_command_and_flag_triggers_do_not_depend_on_the_session() -> None:
    assert not depends_on_session(waiting_for("command:x", "flag:y"))


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ("file:.mcp.json", True),
        ("file:.pi/mcp.json", False),
        ("file:~/.codex/config.toml", True),
        ("file:~/.pi/agent/mcp.json", True),
        ("file:~/.pi/agent/other.json", False),
        ("env:MCP_URL", True),
        ("env:EMPTY", False),
        ("env:UNKNOWN", False),
        ("shared:room", True),
        ("shared:kernel", False),
    ],
)
def test_files_variables_and_shared_objects_are_triggers(
    tmp_path: Path, trigger: str, expected: bool
) -> None:
    state = ActivationState(
        cwd=tmp_path / "project",
        home=tmp_path / "home",
        agent_dir=tmp_path / "agent",
        environ={"MCP_URL": "http://127.0.0.1", "EMPTY": ""},
        settings={},
        shared=frozenset({"room"}),
        uses_project=lambda: True,
    )
    for file in ("project/.mcp.json", "home/.codex/config.toml", "agent/mcp.json"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()

    assert depends_on_session(waiting_for(trigger))
    assert is_triggered(waiting_for(trigger), state) is expected


def test_files_of_an_untrusted_project_are_no_triggers(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").touch()
    state = replace(HERE, cwd=tmp_path)

    assert not is_triggered(waiting_for("file:.mcp.json"), state)
    assert is_triggered(waiting_for("file:.mcp.json"), replace(state, uses_project=lambda: True))


def test_trust_is_decided_only_for_a_file_that_exists(tmp_path: Path) -> None:
    questions: list[str] = []

    def uses_project() -> bool:
        questions.append("trust")
        return True

    state = replace(HERE, cwd=tmp_path, uses_project=uses_project)

    assert not is_triggered(waiting_for("file:.mcp.json"), state)
    assert questions == []


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (Manifest(gates=("hooks.json",)), ("hooks.json",)),
        (Manifest(activate=("command:x",), gates=("hooks.json",)), ()),
        (Manifest(activate=("setting:hooks",), gates=("hooks.json",)), ("hooks.json",)),
        (Manifest(activate=("setting:other",), gates=("hooks.json",)), ()),
        (Manifest(activate=("flag:budget",), gates=("hooks.json",)), ("hooks.json",)),
        (Manifest(activate=("file:hooks.json",), gates=("hooks.json",)), ("hooks.json",)),
        (Manifest(modes=("rpc",), gates=("hooks.json",)), ()),
    ],
)
def test_a_gate_is_active_only_if_its_extension_is_enabled(
    tmp_path: Path, manifest: Manifest, expected: tuple[str, ...]
) -> None:
    (tmp_path / "hooks.json").touch()
    state = replace(HERE, cwd=tmp_path, settings={"hooks": True})

    assert active_gates([manifest], state, {"budget": "15m"}, "print") == expected
