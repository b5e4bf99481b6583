from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.tool import ToolContext
from pi.ai.providers.faux import says
from pi.coding.bus import NamedRegistry, OrderedList
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.extension_host.events.handlers import EVENTS
from pi.coding.extension_host.host import ExtensionHost
from pi.coding.extension_host.loading.modules import PREFIX, module_name
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.session_fixture import SessionFixture

HELLO = """
def extension(pi):
    @pi.tool
    def greet(name: str) -> str:
        "Greet a user."
        return f"Hello, {name}!"

    @pi.command("hi")
    async def hi(args, ctx):
        await pi.send_message({"custom_type": "hi", "content": args})

    @pi.on("input")
    def shout(event, ctx):
        return {"action": "transform", "text": event.text.upper()}
"""
BROKEN = {
    "syntax.py": "def extension(",
    "missing.py": "import nothing_like_this",
    "leaving.py": "import sys\ndef extension(pi): sys.exit(3)",
    "empty.py": "",
    "factory.py": (
        "def extension(pi):\n"
        "    pi.register_flag('x')\n"
        "    pi.command('bad')(lambda args, ctx: None)\n"
        "    pi.on('input', lambda event, ctx: None)\n"
        "    raise RuntimeError('no')\n"
    ),
    "base.py": ("class Odd(BaseException): ...\ndef extension(pi):\n    raise Odd\n"),
    "exits.py": "import sys\nsys.exit(3)\n",
    "old.py": "# /// pi\n# api = 0\n# ///\ndef extension(pi): ...\n",
}


@pytest.mark.behaviour("failed-factory-leaves-nothing")
async def test_a_broken_extension_is_reported_and_the_others_load(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("one"))
    for name, text in BROKEN.items():
        fixture.write(f".pi/agent/extensions/{name}", text)
    fixture.write(".pi/agent/extensions/zz.py", HELLO)
    session = await fixture.open()
    host = session.extensions.hosting.host

    problems = {Path(info.path).name: info.problem for info in host.loading.infos if info.problem}
    assert sorted(problems) == sorted(BROKEN)
    assert problems["factory.py"] == "RuntimeError: no"
    assert problems["empty.py"].endswith("Write `def extension(pi): ...` in it.")
    assert len([text for text in fixture.reports if "was not loaded" in text]) == len(BROKEN)
    assert [name for name, _ in host.registries.commands.listed()] == ["hi"]
    assert host.registries.flags.winners() == {}
    await session.prompt("hello")
    assert fixture.provider.requests[0].messages[-1].content[0].text == "HELLO"  # type: ignore[union-attr]
    await session.close()


@pytest.mark.behaviour("slow-extension-does-not-delay")
async def test_the_load_time_of_each_extension_is_recorded(tmp_path: Path) -> None:
    def slow(pi: ExtensionAPI) -> None: ...

    async with extension_session(tmp_path, slow) as hosted:
        (info,) = hosted.host.loading.infos

    assert (info.name, info.rank, info.problem) == ("slow", "explicit", "")
    assert info.milliseconds >= 0


OPEN_FILES = Path("/proc/self/fd")
BUSY = """
async def extension(pi):
    @pi.tool
    def greet(name: str) -> str:
        "Greet a user."
        return f"Hello, {name}!"

    for event in ("input", "agent_start", "tool_call", "message_update", "session_shutdown"):
        pi.on(event, lambda event, ctx: None)
    pi.events.on("news", lambda data: None)
    pi.register_flag("busy")
    pi.register_shortcut("ctrl+y", lambda ctx: None)
    pi.add_section("busy", "Be busy.")
    pi.wrap_tool("read", lambda params, ctx, inner: inner(params))
    pi.provide("busy", object())
    pi.scope.every(1.0, lambda: None)

    async def wait():
        import asyncio
        await asyncio.Event().wait()

    pi.scope.spawn(wait(), name="waiting")
    await pi.shared("busy", shared)


async def shared(scope):
    return []
"""


async def test_reloading_leaves_nothing_behind(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    path = fixture.write(".pi/agent/extensions/hello.py", HELLO)
    fixture.write(".pi/agent/extensions/busy.py", BUSY)
    fixture.write(".pi/agent/extensions/kit/__init__.py", "from .inner import extension\n")
    fixture.write(".pi/agent/extensions/kit/inner.py", "def extension(pi): ...\n")
    session = await fixture.open()
    await session.start()
    host = session.extensions.hosting.host
    await session.sessions.reload()
    before = _left(host)

    for _ in range(50):
        await session.sessions.reload()
    assert _left(host) == before

    path.write_text(HELLO.replace('"hi"', '"hey"'))
    await session.sessions.reload()
    assert [name for name, _ in host.registries.commands.listed()] == ["hey"]
    await session.close()
    assert host.registries.tools.values == {}


def _left(host: ExtensionHost) -> dict[str, Any]:
    """Counts of everything that extensions can start."""
    registries = {
        name: len(list(rows.all() if isinstance(rows, NamedRegistry) else rows))
        for name, rows in vars(host.registries).items()
        if isinstance(rows, NamedRegistry | OrderedList)
    }
    return {
        "registered": registries,
        "commands": [name for name, _ in host.registries.commands.listed()],
        "handlers": {name: len(host.bus.subscribers(kind)) for name, kind in EVENTS.items()},
        "tasks": len(asyncio.all_tasks()),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "modules": sorted(name for name in sys.modules if name.startswith(PREFIX)),
        "path": list(sys.path),
        "files": len(list(OPEN_FILES.iterdir())) if OPEN_FILES.exists() else 0,
    }


@pytest.mark.parametrize("folder", ["extensions", "tools"])
async def test_nothing_of_a_project_is_run_before_it_is_trusted(
    tmp_path: Path, folder: str
) -> None:
    fixture = SessionFixture(tmp_path)
    mark = fixture.home / "mark"
    code = f"open({str(mark)!r}, 'w').close()\ndef extension(pi): ...\ntools = lambda pi: []\n"
    fixture.write(f"project/.pi/{folder}/evil.py", code)

    session = await fixture.open()
    await session.close()
    assert not mark.exists()

    session = await fixture.open(approve=True)
    assert [info.rank for info in session.extensions.infos()] == ["project"]
    await session.close()
    assert mark.exists()


@pytest.mark.behaviour("resource-precedence")
async def test_a_tool_of_the_command_line_overrides_tools_of_the_same_name(tmp_path: Path) -> None:
    def code(answer: str) -> str:
        tool = f"    @pi.tool\n    async def who() -> str:\n        return {answer!r}\n"
        return f"def extension(pi):\n{tool}"

    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/extensions/a.py", code("user"))
    fixture.write("project/.pi/extensions/b.py", code("project"))
    explicit = fixture.write("c.py", code("explicit"))
    chosen = ExtensionOptions(paths=(str(explicit),))
    session = await fixture.open(approve=True, extensions=chosen)
    host = session.extensions.hosting.host

    who = host.registries.tools.values["who"].tool
    assert await who.run({}, ToolContext("1", lambda result: None)) == "explicit"
    hidden = [(kind, name, Path(lost.path).name) for kind, name, lost, _ in _hidden(host)]
    assert hidden == [("tool", "who", "a.py"), ("tool", "who", "b.py")]
    await session.close()


def _hidden(host: Any) -> Any:
    return host.registries.hidden_names()


async def test_an_async_factory_is_awaited_and_a_hanging_one_times_out(tmp_path: Path) -> None:
    async def good(pi: ExtensionAPI) -> None:
        await asyncio.sleep(0)
        pi.command("good")(lambda args, ctx: None)

    async def bad(pi: ExtensionAPI) -> None:
        pi.command("bad")(lambda args, ctx: None)
        await asyncio.Event().wait()

    fixture = SessionFixture(tmp_path)
    opening = asyncio.ensure_future(
        fixture.open(extensions=ExtensionOptions(discover=False, inline=(bad, good)))
    )
    await fixture.clock.advance(31)
    session = await opening

    names = [name for name, _ in session.extensions.hosting.host.registries.commands.listed()]
    assert names == ["good"]
    assert "took longer than 30 seconds" in fixture.reports[0]
    await session.close()


async def test_owner_of_returns_the_extension_of_a_module(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    path = fixture.write(".pi/agent/extensions/zz.py", HELLO)
    session = await fixture.open()
    loading, module = session.extensions.hosting.host.loading, module_name(path)

    owners = [loading.owner_of(name) for name in (module, f"{module}.inner", f"{module}x", "pi")]
    assert [owner and owner.path for owner in owners] == [str(path), str(path), None, None]
    await session.close()
    assert loading.owner_of(module) is None
