from __future__ import annotations

import sys
from pathlib import Path

from pi.ai.providers.faux import says
from pi.coding.extension_host.modules import module_name
from tests.coding.runtime.stage import Stage

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
    stage = Stage(tmp_path)
    path = stage.write(".pi/agent/extensions/weather.py", LAZY)
    session = await stage.open()
    await session.start()

    (listed,) = [each for each in session.facts.commands() if each.name == "weather"]
    assert listed.description == "show the weather"
    assert module_name(path) not in sys.modules

    await session.prompt("/weather today")
    assert module_name(path) in sys.modules
    assert [message.content for message in session.messages] == ["today metric"]  # type: ignore[union-attr]
    assert [each.name for each in session.facts.commands()] == ["weather"]
    await session.close()


async def test_an_event_that_it_waits_for_loads_it_and_is_answered(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("one"))
    stage.write(".pi/agent/extensions/weather.py", LAZY)
    session = await stage.open()

    await session.prompt("hello")

    assert stage.provider.requests[0].messages[-1].content[0].text == "HELLO"  # type: ignore[union-attr]
    await session.close()


async def test_one_that_fails_at_its_first_use_is_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write(".pi/agent/extensions/weather.py", LAZY.replace("def extension", "def other"))
    session = await stage.open()

    await session.prompt("/weather today")

    (failed,) = [event for event in stage.told if type(event).__name__ == "ExtensionFailed"]
    assert failed.extension_path == "command:weather"
    assert "has no function extension(pi)" in failed.error
    await session.close()
