"""What a server cannot do: stop the program, hide text, drop answers, switch others off."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from pi.batteries.mcp import schema_patterns
from pi.batteries.mcp.schema_patterns import PatternCheck, pattern_checks, without_patterns
from pi.batteries.mcp.server_messages import hidden_text, matches_template, tools_of
from tests.batteries.mcp.mcp_session import Answers, mcp_session, program, write_json
from tests.batteries.mcp.test_configuration import files_of

TAGGED = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
CATASTROPHIC = r"^(a+)+$"
BACKREFERENCE = r"^(a+)+\1$"
"""A dialect that RE2 does not know."""
VICTIM = "a" * 60 + "!"


# Patterns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["re2", "process"])
@pytest.mark.parametrize("pattern", [CATASTROPHIC, BACKREFERENCE])
async def test_a_pattern_of_a_server_never_stops_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, pattern: str
) -> None:
    if engine == "process":
        monkeypatch.setattr(schema_patterns, "_linear", lambda pattern: None)
    else:
        pytest.importorskip("re2")
    beats: list[float] = []

    async def beat() -> None:
        while True:
            beats.append(time.monotonic())
            await asyncio.sleep(0.02)

    async with mcp_session(tmp_path, {"s": program("modern", f"pattern={pattern}")}) as mcp:
        name = next(name for name in mcp.tools if name.endswith("echo"))
        assert (await mcp.text(name, text="aaaa")).startswith("You said aaaa")
        beating = asyncio.create_task(beat())
        refusal = await mcp.text(name, text=VICTIM)
        beating.cancel()

        is_linear = engine == "re2" and pattern == CATASTROPHIC
        expected = "must match the pattern" if is_linear else f"You said {VICTIM}"
        assert expected in refusal
        assert len(beats) >= (1 if is_linear else 5), "the loop was stopped while matching"


async def test_a_value_that_does_not_match_is_refused_with_the_pattern(tmp_path: Path) -> None:
    async with mcp_session(tmp_path, {"s": program("modern", "pattern=^[a-z]+$")}) as mcp:
        name = next(name for name in mcp.tools if name.endswith("echo"))

        assert "text must match the pattern ^[a-z]+$" in await mcp.text(name, text="123")
        tools = {tool.name: tool for tool in mcp.hosted.session.tools.active()}
        assert "^[a-z]+$" in str(tools[name].parameters), "the model sees the pattern"


def test_patterns_are_removed_everywhere_but_not_properties_of_that_name() -> None:
    schema = {
        "properties": {
            "pattern": {"type": "string", "pattern": "(x+)+"},
            "list": {"items": {"pattern": "a"}, "enum": ["pattern"], "default": {"pattern": "x"}},
            "more": {"anyOf": [{"pattern": "b"}]},
        },
        "patternProperties": {"^x": {"type": "integer"}},
        "additionalProperties": False,
        "$defs": {"pattern": {"pattern": "c"}},
    }

    assert without_patterns(schema) == {
        "properties": {
            "pattern": {"type": "string"},
            "list": {"items": {}, "enum": ["pattern"], "default": {"pattern": "x"}},
            "more": {"anyOf": [{}]},
        },
        "additionalProperties": True,
        "$defs": {"pattern": {}},
    }


def test_patterns_are_found_in_lists_parts_and_references() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "names": {"items": {"$ref": "#/$defs/name"}},
            "loop": {"$ref": "#/properties/loop"},
        },
        "allOf": [{"properties": {"id": {"pattern": "i"}}}],
        "$defs": {"name": {"pattern": "n"}},
    }

    checks = pattern_checks(schema, {"names": ["one", 2], "id": "x", "loop": "y"})

    assert checks == [
        PatternCheck(place="id", text="x", pattern="i"),
        PatternCheck(place="names[0]", text="one", pattern="n"),
    ]


def test_a_template_with_many_placeholders_is_matched_in_linear_time() -> None:
    assert not matches_template("x://" + "{a}-" * 60 + "end", "x://" + "-" * 5000)
    assert matches_template("x://{a}/{b}", "x://1/2")
    assert not matches_template("x://{a}", "x://1?q")
    assert matches_template("x://{+a}", "x://1?q#f")
    assert not matches_template("x://{a}/y", "x://1/z")


# Size ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["modern", "2025-11-25"])
async def test_an_answer_that_is_too_large_fails_the_call_at_once_with_its_size(
    tmp_path: Path, era: str
) -> None:
    async with mcp_session(tmp_path, {"s": program(era)}) as mcp:
        name = next(name for name in mcp.tools if name.endswith("big"))
        size = 65 * 1024 * 1024

        refusal = await mcp.text(name, text=str(size))

        assert "answered with 68,157," in refusal and "64 MiB" in refusal
        assert (await mcp.text(name, text="3")).startswith("xxx"), "the server is still used"


# Text ---------------------------------------------------------------------------------------------


async def test_texts_of_a_server_hide_and_imitate_nothing(tmp_path: Path) -> None:
    async with mcp_session(tmp_path, {"s": program("modern", "hiding")}) as mcp:
        server = mcp.server("s")
        tools = {tool.name: tool for tool in server.offer.current.tools}
        name = next(name for name in mcp.tools if name.endswith("echo"))

        result = await mcp.text(name, text=f"x{TAGGED}\x1b[31my\u202e<system-reminder>")

        assert tools["echo"].description == "Echo \\<system-reminder>this"
        assert server.offer.current.instructions == "Be kind."
        assert "secretly" not in tools
        assert any("secretly was left out" in line for line in server.lines)
        assert "You said xy\\u202e\\<system-reminder>." in result


async def test_a_server_asks_the_model_only_what_the_user_has_seen(tmp_path: Path) -> None:
    ui = Answers("Allow once")
    async with mcp_session(tmp_path, {"s": program("modern")}, ui=ui, steps=1) as mcp:
        await mcp.text("mcp__s__ask", text="hiding")

        sampling_request = mcp.hosted.fixture.provider.requests[-1]
        for text in ("Be kind.\\<system-reminder>", "2+2?"):
            assert repr(text) in str(sampling_request.messages) and text in ui.titles[-1]


async def test_a_page_is_not_opened_if_browsers_understand_its_address_differently(
    tmp_path: Path,
) -> None:
    ui = Answers("Open the page")
    async with mcp_session(tmp_path, {"s": program("modern")}, ui=ui) as mcp:
        assert "not an http address" in await mcp.text("mcp__s__ask", text="disguised")
    assert ui.opened == [] and ui.titles == []


def test_hidden_characters_in_names_and_values_of_a_schema_are_found() -> None:
    def tool(schema: dict[str, Any]) -> Any:
        [parsed] = tools_of({"tools": [{"name": "t", "inputSchema": schema}]})
        return parsed

    described = {"properties": {"a": {"description": f"x{TAGGED}", "title": "\x1b[1mT"}}}
    assert tool(described).input_schema == {"properties": {"a": {"description": "x", "title": "T"}}}
    assert hidden_text(tool(described)) == ""
    assert hidden_text(tool({"properties": {f"a{TAGGED}": {}}})) == f"a{TAGGED}"
    assert hidden_text(tool({"properties": {"a": {"enum": [f"b{TAGGED}"]}}})) == f"b{TAGGED}"
    assert hidden_text(tool({"properties": {"a": {"default": "x\r\ny", "enum": ["<b>"]}}})) == ""


# Consent ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "switching",
    [
        {"disabledServers": ["mine"]},
        {"mcpServers": {"mine": {"command": "true", "disabled": True}}},
        {"mcpServers": {"my_own": {"command": "true"}}},
        {"mcpServers": {"mine": {"command": "true"}}, "enabledServers": []},
    ],
)
async def test_a_project_switches_servers_of_the_user_off_only_with_consent(
    tmp_path: Path, switching: dict[str, Any]
) -> None:
    project, agent = files_of(tmp_path)
    name = "my-own" if "my_own" in str(switching) else "mine"
    write_json(agent / "mcp.json", {"mcpServers": {name: program("modern")}})
    write_json(project / ".pi" / "mcp.json", switching)

    async with mcp_session(tmp_path, {}, approve=True) as mcp:
        assert [server.name for server in mcp.mcp.servers] == [name], "without a user"
    ui = Answers("Deny")
    async with mcp_session(tmp_path, {}, ui=ui, approve=True) as mcp:
        assert [server.name for server in mcp.mcp.servers] == [name]
    assert len(ui.titles) == 1
    assert "Apply the MCP list disabledServers?" in ui.titles[0]
    assert f'switchesOff: ["{name}"]' in ui.titles[0]


@pytest.mark.parametrize(
    ("entry", "is_asked"), [({}, False), ({"enabled": False, "exposure": "deferred"}, True)]
)
async def test_an_entry_of_a_project_without_a_server_only_changes_that_of_the_user(
    tmp_path: Path, entry: dict[str, Any], is_asked: bool
) -> None:
    project, agent = files_of(tmp_path)
    write_json(agent / "mcp.json", {"mcpServers": {"mine": program("modern")}})
    write_json(project / ".pi" / "mcp.json", {"mcpServers": {"mine": entry}})

    ui = Answers("Deny")
    async with mcp_session(tmp_path, {}, ui=ui, approve=True) as mcp:
        assert [server.name for server in mcp.mcp.servers] == ["mine"]
    assert len(ui.titles) == int(is_asked)
    if is_asked:
        assert "Apply the MCP list changes?" in ui.titles[0]


async def test_a_change_of_a_project_that_the_user_accepts_applies(tmp_path: Path) -> None:
    project, agent = files_of(tmp_path)
    write_json(agent / "mcp.json", {"mcpServers": {"mine": program("modern")}})
    write_json(project / ".pi" / "mcp.json", {"mcpServers": {"mine": {"enabled": False}}})

    async with mcp_session(tmp_path, {}, ui=Answers("Allow"), approve=True) as mcp:
        assert mcp.mcp.servers == []


async def test_a_list_that_the_user_accepts_switches_servers_off(tmp_path: Path) -> None:
    project, agent = files_of(tmp_path)
    write_json(agent / "mcp.json", {"mcpServers": {"mine": program("modern")}})
    write_json(project / ".pi" / "mcp.json", {"disabledServers": ["mine"]})

    async with mcp_session(tmp_path, {}, ui=Answers("Allow"), approve=True) as mcp:
        assert mcp.mcp.servers == []
    async with mcp_session(tmp_path, {}, ui=Answers(), approve=True) as mcp:
        assert mcp.mcp.servers == [], "the answer is stored"


@pytest.mark.parametrize("name", ["mine", "other"])
async def test_a_project_replaces_a_server_of_the_user_only_with_consent(
    tmp_path: Path, name: str
) -> None:
    project, agent = files_of(tmp_path)
    own = program("modern")
    write_json(agent / "mcp.json", {"mcpServers": {"mine": own}})
    # Under another name, equal content replaces it.
    replacing = program("modern", "changed") if name == "mine" else own
    write_json(project / ".pi" / "mcp.json", {"mcpServers": {name: replacing}})
    for answer, sources in (("Deny", [str(agent / "mcp.json")]), ("Allow", [".pi/mcp.json"])):
        ui = Answers(answer)
        (agent / "consent.json").unlink(missing_ok=True)
        async with mcp_session(tmp_path, {}, ui=ui, approve=True) as mcp:
            used = [server.configured.source for server in mcp.mcp.servers]
        assert len(used) == 1 and used[0].endswith(sources[0])
        assert f"Run the MCP server {name}?" in ui.titles[0]
        assert f'replacesServerOf: "{agent / "mcp.json"}"' in ui.titles[0]
