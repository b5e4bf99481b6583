"""Packages in a session."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from pi.agent.tools.tool import ToolContext
from pi.base.clock import SystemClock
from pi.coding.extension_host.discovery.finding import IMPORT_ROOTS, ExtensionOptions
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.loading.modules import module_at
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import PackageLocation
from pi.coding.packages.store import PackageStore
from tests.coding.packages.making import make_package, make_wheel
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture


@pytest.mark.behaviour("trust-uses-canonical-paths")
async def test_packages_of_a_project_are_used_only_when_it_is_trusted(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    make_package(fixture.home / "own", "skills/mine/SKILL.md prompts/hello.md")
    make_package(fixture.home / "theirs", "skills/project/SKILL.md")
    fixture.write(".pi/agent/settings.json", json.dumps({"packages": ["../../own"]}))
    fixture.write("project/.pi/settings.json", json.dumps({"packages": ["../../theirs"]}))

    names = []
    for approve in (None, True):
        session = await fixture.open(approve=approve)
        names.append({command.name for command in session.info.commands()})
        await session.close()

    assert names == [{"hello", "skill:mine"}, {"hello", "skill:mine", "skill:project"}]


OFFLINE = {**ENVIRON, "PI_OFFLINE": "1"}


async def test_a_package_that_is_not_installed_is_a_warning(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, environ=OFFLINE)
    fixture.write(".pi/agent/settings.json", json.dumps({"packages": ["npm:tips", "npm:../x"]}))

    session = await fixture.open()
    await session.close()

    assert [report.split(":")[1] for report in fixture.reports] == [
        ' Cannot understand the package source "npm',
        " Package npm",
    ]


async def test_warnings_about_many_unusable_files_are_limited(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, environ=OFFLINE)
    for number in range(30):
        fixture.write(f"own/skills/s{number}.md", "no front matter")
    fixture.write(".pi/agent/settings.json", json.dumps({"packages": ["../../own"]}))

    session = await fixture.open()
    await session.close()

    assert len(fixture.reports) == 21
    assert fixture.reports[-1] == "Warning: 10 more files could not be used."


def says(word: str) -> str:
    """An extension with a command that shows a word."""
    return f"""\
def extension(pi):
    @pi.command("say")
    async def say(args, ctx):
        await pi.send_message({{"custom_type": "said", "content": {word}}})
"""


async def command_texts(fixture: SessionFixture) -> list[str]:
    """The texts that the command shows in a session."""
    session = await fixture.open()
    await session.start()
    await session.prompt("/say")
    await session.close()
    return [str(message.content) for message in session.messages if hasattr(message, "content")]


async def test_extensions_of_packages_are_loaded(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write("kit/extensions/say/__init__.py", "from .word import WORD\n" + says("WORD"))
    fixture.write("kit/extensions/say/word.py", "WORD = 'hello'\n")
    fixture.write("kit/extensions/old.ts", "export default () => {}")
    fixture.write(".pi/agent/settings.json", json.dumps({"packages": ["../../kit"]}))

    assert await command_texts(fixture) == ["hello"]
    session = await fixture.open()
    (info,) = [info for info in session.extensions.infos() if info.rank == "package"]
    assert (info.name, info.source, info.state) == ("say", "../../kit", "loaded")
    assert list(session.extensions.foreign) == [str(fixture.home / "kit/extensions/old.ts")]
    await session.close()

    only = await fixture.open(extensions=ExtensionOptions(discover=False))
    assert list(only.extensions.infos()) == []
    await only.close()


@pytest.mark.full
async def test_an_extension_of_a_distribution_can_import_its_modules_and_dependencies(
    tmp_path: Path, wheelhouse: Path, programs: Programs
) -> None:
    fixture = SessionFixture(tmp_path)
    points = "[pi.extensions]\nsay = pi_tips_ext.say:begin\n"
    body = says("WORD").replace("def extension", "def begin")
    code = f"from pi_tips_words import WORD\nfrom pi_tips_ext import VERSION\n{body}"
    wheel = make_wheel(
        wheelhouse, "pi-tips-ext", "1.0", requires=("pi-tips-words",), entry_points=points
    )
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("pi_tips_ext/say.py", code)
    dependency = make_wheel(wheelhouse, "pi-tips-words", "2.0")
    with zipfile.ZipFile(dependency, "a") as archive:
        archive.writestr("pi_tips_words/more.py", "")
    store = PackageStore(
        PackageLocation(scope="user", base=fixture.agent_dir),
        programs,
        lock=fixture.agent_dir / ".lock",
        clock=SystemClock(),
    )
    await store.install("pypi:pi-tips-ext", fixture.cwd)
    root = fixture.agent_dir / "pypi" / "pi-tips-ext"
    (root / "pi_tips_words" / "__init__.py").write_text("WORD = 'needed'\n")

    try:
        assert await command_texts(fixture) == ["needed"]
        session = await fixture.open()
        await session.sessions.reload()
        assert [info.rank for info in session.extensions.infos() if info.name == "say"] == [
            "package"
        ]
        await session.close()
    finally:
        sys.path.remove(str(root))
        IMPORT_ROOTS.discard(str(root))


async def test_a_second_package_with_the_same_module_name_is_rejected(
    tmp_path: Path,
) -> None:
    roots = []
    for name in ("one", "two"):
        root = tmp_path / name
        (root / "pi_tips_same").mkdir(parents=True)
        (root / "pi_tips_same" / "__init__.py").write_text(f"NAME = {name!r}\n")
        roots.append(root)
    try:
        assert module_at(roots[0] / "pi_tips_same", roots[0]).NAME == "one"
        with pytest.raises(ExtensionError, match="cannot be imported: pi_tips_same is"):
            module_at(roots[1] / "pi_tips_same", roots[1])
    finally:
        for root in roots:
            sys.path.remove(str(root))
            IMPORT_ROOTS.discard(str(root))
        sys.modules.pop("pi_tips_same", None)


@pytest.mark.behaviour("resource-precedence")
async def test_project_tools_override_user_tools_and_both_override_package_tools(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    tool = "def extension(pi):\n    @pi.tool\n    async def who() -> str:\n        return {!r}\n"
    fixture.write("kit/extensions/c.py", tool.format("package"))
    fixture.write(".pi/agent/extensions/a.py", tool.format("user"))
    fixture.write("project/.pi/extensions/b.py", tool.format("project"))
    fixture.write(".pi/agent/settings.json", json.dumps({"packages": ["../../kit"]}))
    session = await fixture.open(approve=True)
    host = session.extensions.hosting.host

    who = host.registries.tools.values["who"].tool
    assert await who.run({}, ToolContext("1", lambda result: None)) == "project"
    losers = [lost.rank for _, name, lost, _ in host.registries.hidden_names() if name == "who"]
    assert losers == ["package", "user"]
    await session.close()


TOOL_FILE = """\
from pi.extension import tool

@tool
def count(text: str) -> str:
    "Count letters."
    return str(len(text))
"""


async def test_tool_files_of_packages_are_tools(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write("kit/tools/count.py", TOOL_FILE)
    fixture.write("kit/tools/build.py", "raise SystemExit('a script of the repository')\n")
    fixture.write("kit/tools/old.ts", "import { x } from 'pi.extension'")
    fixture.write("other/tools/count.py", TOOL_FILE)
    fixture.write("other/pi.toml", 'tools = ["tools/count.py", "more/deep.py"]\n')
    fixture.write("other/more/deep.py", TOOL_FILE.replace("count(", "deep("))
    filtered = {"source": "../../none", "tools": []}
    fixture.write("none/tools/never.py", TOOL_FILE.replace("count(", "never("))
    packages = ["../../kit", "../../other", filtered]
    fixture.write(".pi/agent/settings.json", json.dumps({"packages": packages}))
    session = await fixture.open()
    states = {(info.name, info.state) for info in session.extensions.infos()}

    assert states == {("count", "loaded"), ("count", "failed"), ("deep", "loaded")}
    assert {"count", "deep"} <= set(session.active_tools)
    assert "never" not in session.active_tools
    (report,) = [text for text in fixture.reports if "was not loaded" in text]
    assert "has the name of one in" in report
    assert list(session.extensions.foreign) == [str(fixture.home / "kit/tools/old.ts")]
    await session.close()


async def test_a_table_of_tools_in_the_manifest_of_an_extension_is_no_list_of_files(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    manifest = '[tools.say]\ndescription = "Say it."\n'
    fixture.write("kit/extensions/say/pi.toml", manifest)
    fixture.write("kit/extensions/say/__init__.py", says("'x'"))
    fixture.write("kit/pi.toml", manifest)
    fixture.write(".pi/agent/settings.json", json.dumps({"packages": ["../../kit"]}))
    session = await fixture.open()

    assert fixture.reports == []
    assert [info.name for info in session.extensions.infos()] == ["say"]
    await session.close()
