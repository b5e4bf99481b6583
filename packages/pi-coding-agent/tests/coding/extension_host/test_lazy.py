from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.extension_host.loading.modules import module_name
from pi.coding.runtime.options import ToolFilter
from pi.coding.session.entries import Custom
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session
from tests.coding.extension_host.deferred import STARTED, kit, sent_texts
from tests.coding.runtime.session_fixture import SessionFixture

LAZY = """\
# /// pi
# activate = ["command:weather", "event:input"]
# commands = { weather = "show the weather" }
#
# [flags.units]
# type = "string"
# default = "metric"
# ///

def extension(pi):
    units = pi.flag("units", type="string", default="metric")

    @pi.command("weather")
    async def weather(args, ctx):
        await pi.send_message({"custom_type": "weather", "content": f"{args} {units()}"})

    @pi.on("input")
    def shout(event, ctx):
        return {"action": "transform", "text": event.text.upper()}
"""


async def test_an_extension_is_not_imported_before_its_command_is_used(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    path = fixture.write(".pi/agent/extensions/weather.py", LAZY)
    session = await fixture.open()
    await session.start()

    (listed,) = [command for command in session.info.commands() if command.name == "weather"]
    assert listed.description == "show the weather"
    assert module_name(path) not in sys.modules

    await session.prompt("/weather today")
    assert module_name(path) in sys.modules
    assert [message.content for message in session.messages] == ["today metric"]  # type: ignore[union-attr]
    assert [command.name for command in session.info.commands()] == ["weather"]
    await session.close()


@pytest.mark.parametrize("name", ["bad name", "", "a\\u001b[31m"])
async def test_an_invalid_command_name_is_reported_once_and_other_extensions_load(
    tmp_path: Path, name: str
) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/extensions/weather.py", LAZY)
    bad = f'# /// pi\n# activate = ["command:fine"]\n# commands = {{ "{name}" = "x" }}\n# ///\n'
    path = fixture.write(".pi/agent/extensions/odd.py", f"{bad}def extension(pi): ...\n")
    session = await fixture.open()
    await session.start()

    assert {command.name for command in session.info.commands()} <= {"weather", "fine"}
    await session.prompt("/weather today")

    assert [message.content for message in session.messages] == ["today metric"]  # type: ignore[union-attr]
    (warning,) = fixture.reports
    assert warning.startswith(f"Warning: extension {path} was not loaded: A command cannot be")
    assert "\x1b" not in warning and "\n" not in warning
    assert [command.name for command in session.info.commands()] == ["weather"]
    await session.close()


async def test_a_declared_event_loads_the_extension_and_is_handled_by_it(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"))
    fixture.write(".pi/agent/extensions/weather.py", LAZY)
    session = await fixture.open()

    await session.prompt("hello")

    assert fixture.provider.requests[0].messages[-1].content[0].text == "HELLO"  # type: ignore[union-attr]
    await session.close()


async def test_a_load_failure_at_the_first_use_is_reported(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/extensions/weather.py", LAZY.replace("def extension", "def other"))
    session = await fixture.open()

    await session.prompt("/weather today")

    (failed,) = [event for event in fixture.events if type(event).__name__ == "ExtensionFailed"]
    assert failed.extension_path == "command:weather"
    assert "has no function extension(pi)" in failed.error
    await session.close()


@pytest.mark.behaviour("failed-factory-leaves-nothing")
async def test_a_manifest_with_an_unknown_event_registers_nothing(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/extensions/weather.py", LAZY.replace("event:input", "event:inpt"))
    session = await fixture.open()

    (info,) = session.extensions.infos()
    assert (info.state, info.problem) == (
        "failed",
        "Unknown event 'inpt'. Did you mean input?",
    )
    assert session.extensions.flags() == []
    assert [command.name for command in session.info.commands()] == []
    await session.close()


@pytest.mark.parametrize(
    ("trigger", "settings", "reported"),
    [
        ("setting:kit.on", '{"kit": {"on": true}}', ["startup"]),
        ("setting:kit.on", '{"kit": {"on": false}}', []),
        ("entry:kit", "{}", ["startup"]),
        ("entry:other", "{}", []),
        ("flag:kit", "{}", ["startup"]),
        ("flag:other", "{}", []),
        ("mode:print", "{}", ["startup"]),
        ("mode:interactive", "{}", []),
        ('session"]\nmodes = ["interactive', "{}", []),
        ("event:session_start", "{}", ["startup"]),
    ],
)
async def test_settings_entries_flags_modes_and_events_load_an_extension_at_the_start(
    tmp_path: Path, trigger: str, settings: str, reported: list[str]
) -> None:
    def with_entry(location: SessionLocation) -> SessionLog:
        log = new_session(location)
        log.append(Custom(custom_type="kit", data=1))
        return log

    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/settings.json", settings)
    path = kit(fixture, f'activate = ["{trigger}"]', STARTED)
    session = await fixture.open(
        open_log=with_entry, extensions=ExtensionOptions(flags={"kit": "15m"})
    )
    await session.start()

    assert sent_texts(session) == reported
    assert (module_name(path) in sys.modules) is bool(reported)
    assert [info.state for info in session.extensions.infos() if info.name == "kit"] == [
        "loaded" if reported else "waiting"
    ]
    await session.close()


TOOL = """\
[tools.weather]
description = "Show the weather."
[tools.weather.parameters]
type = "object"
required = ["place"]
[tools.weather.parameters.properties.place]
type = "string"
"""
WEATHER = """\
@pi.tool
def weather(place: str) -> str:
    "Show the weather."
    return f"{place}: sun"
"""


async def test_a_tool_of_a_manifest_is_registered_before_its_extension_is_loaded(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, calls("weather", place="Turin"), says("sunny"))
    path = kit(fixture, f'activate = ["tool:weather"]\n{TOOL}', WEATHER)
    session = await fixture.open()

    assert "weather" in session.extensions.hosting.host.registries.tools.values
    assert module_name(path) not in sys.modules

    await session.prompt("how is it?")
    assert sent_texts(session) == ["Turin: sun"]
    await session.close()


async def test_a_call_of_another_tool_can_load_an_extension(tmp_path: Path) -> None:
    fixture = SessionFixture(
        tmp_path,
        calls("ls", path="."),
        calls("read", path="notes.txt"),
        calls("ls", path="."),
        says("done"),
    )
    fixture.write("project/notes.txt", "a note")
    body = """\
@pi.on("tool_result")
def note(event, ctx):
    return {"content": [{"type": "text", "text": f"seen {event.tool_name}"}]}
"""
    kit(fixture, 'activate = ["tool:read", "event:session_compact"]', body)
    session = await fixture.open(tools=ToolFilter(only=("ls", "read")))

    await session.prompt("go")

    assert sent_texts(session) == ["notes.txt", "seen read", "seen ls"]
    await session.close()


async def test_completing_the_arguments_of_a_command_loads_its_extension(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    body = """\
async def weather(args, ctx): ...
pi.register_command("weather", weather, completions=lambda prefix: [prefix + "today"])
"""
    kit(fixture, 'activate = ["command:weather"]', body)
    session = await fixture.open()

    assert await session.extensions.completions("weather", "x") == ["xtoday"]
    await session.close()
