from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.providers.faux import calls, says
from tests.coding.runtime.session_fixture import SessionFixture

FUNCTION = """\
from pi.extension import tool

@tool
def count(text: str) -> str:
    "Count letters."
    return str(len(text))
"""
FACTORY = """\
from pi.extension import tool

{kind} tools(pi):
    @tool(name="{name}")
    async def where() -> str:
        "Say where pi is."
        result = await pi.exec(["pwd"])
        return result.stdout.strip()
    return {result}
"""


async def test_a_function_in_a_tool_file_is_registered_as_a_tool(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("count", text="four"), says("four"))
    fixture.write(".pi/agent/tools/count.py", FUNCTION)
    session = await fixture.open()

    await session.prompt("how long is it?")

    assert fixture.provider.requests[-1].messages[-1].content[0].text == "4"  # type: ignore[union-attr]
    assert [(info.name, info.rank, info.state) for info in session.extensions.infos()] == [
        ("count", "user", "loaded")
    ]
    await session.close()


@pytest.mark.parametrize(("kind", "result"), [("def", "where"), ("async def", "[where]")])
async def test_a_tool_factory_gets_the_extension_api(
    tmp_path: Path, kind: str, result: str
) -> None:
    fixture = SessionFixture(tmp_path, calls("where"), says("there"))
    code = FACTORY.format(kind=kind, name="where", result=result)
    fixture.write("project/.pi/tools/where/__init__.py", code)

    session = await fixture.open(approve=False)
    assert session.extensions.hosting.host.registries.tools.values == {}
    await session.close()

    session = await fixture.open(approve=True)
    await session.prompt("where?")
    assert fixture.provider.requests[-1].messages[-1].content[0].text == str(fixture.cwd)  # type: ignore[union-attr]
    await session.close()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("WORDS = 3\n", "defines no tool"),
        (FACTORY.format(kind="def", name="read", result="where"), "the name of a built-in tool"),
        (FACTORY.format(kind="def", name="x", result="3"), "3 is not a tool"),
        ("def tools(pi): return {'name': 'x'}\n", "{'name': 'x'} is not a tool"),
        ("def tools(pi): raise RuntimeError('no')\n", "RuntimeError: no"),
    ],
)
async def test_an_invalid_tool_file_is_reported(tmp_path: Path, code: str, message: str) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/tools/bad.py", code)
    session = await fixture.open()

    assert session.extensions.hosting.host.registries.tools.values == {}
    (report,) = [text for text in fixture.reports if "bad.py" in text]
    assert message in report
    await session.close()


async def test_other_files_in_the_tools_folder_are_not_loaded(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/tools/notes.md", "# Notes")
    fixture.write(".pi/agent/tools/rg", "a program")
    old = fixture.write(".pi/agent/tools/old.ts", "export default () => {}")
    session = await fixture.open()

    assert list(session.extensions.foreign) == [str(old)]
    assert session.extensions.hosting.host.registries.tools.values == {}
    await session.close()


async def test_of_two_tool_files_with_the_same_tool_name_the_first_is_used(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    first = fixture.write(".pi/agent/tools/a.py", FUNCTION)
    second = fixture.write(".pi/agent/tools/b.py", FUNCTION)
    fixture.write("project/.pi/tools/c.py", FUNCTION)  # the project wins over the user
    session = await fixture.open(approve=True)

    states = {Path(info.path).name: info.state for info in session.extensions.infos()}
    assert states == {"a.py": "loaded", "b.py": "failed", "c.py": "loaded"}
    (report,) = [text for text in fixture.reports if "was not loaded" in text]
    assert f"The tool count of {second} has the name of one in {first}." in report
    await session.close()
