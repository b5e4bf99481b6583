"""Pure parts: names, contents, headers, definitions, values, search, arguments of prompts."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Image, Text
from pi.batteries.mcp import client_messages, server_messages
from pi.batteries.mcp.arguments import parse_added
from pi.batteries.mcp.content import Limits, call_result, limit_blocks
from pi.batteries.mcp.definitions import ConfigFile, Configured, Definition
from pi.batteries.mcp.formats import FILES, from_settings, merge, parse_file
from pi.batteries.mcp.forms import InvalidAnswer, field_value
from pi.batteries.mcp.oauth import (
    authorization,
    challenge_parameters,
    discovery_policy,
    is_same_resource,
    well_known,
)
from pi.batteries.mcp.protocol import McpError, PromptArgument, PromptInfo
from pi.batteries.mcp.server import request_timeout, start_timeout
from pi.batteries.mcp.session import Values
from pi.batteries.mcp.tools import (
    output_tokens,
    prompt_arguments,
    search_share,
    tool_name,
    unique_names,
)
from pi.batteries.mcp.transport import Lines
from pi.extension.guards import AddressRefused, tool_matches

# Names --------------------------------------------------------------------------------------------


def test_names_are_valid_for_providers_and_not_too_long() -> None:
    assert tool_name("git hub", "create.issue") == "mcp__git_hub__create_issue"
    assert tool_name("a__b", "c") == "mcp__a_b__c"
    long = tool_name("s" * 30, "t" * 50)
    assert len(long) == 64 and long != tool_name("s" * 30, "t" * 51)
    assert long.startswith(f"mcp__{'s' * 30}__")


@pytest.mark.behaviour("mcp-names-and-servers")
def test_names_that_count_as_equal_are_numbered_in_the_order_of_their_server() -> None:
    pairs = [("a", "x-y"), ("a", "b"), ("a", "x_y"), ("a", "X.y"), ("a", "x_y_2"), ("b", "x_y")]
    assert unique_names(pairs) == {
        ("a", "x-y"): "mcp__a__x-y",
        ("a", "b"): "mcp__a__b",
        ("a", "x_y"): "mcp__a__x_y_2",
        ("a", "X.y"): "mcp__a__X_y_3",
        ("a", "x_y_2"): "mcp__a__x_y_2_2",
        ("b", "x_y"): "mcp__b__x_y",
    }


@pytest.mark.parametrize(
    ("written", "name", "matches"),
    [
        ("mcp__git", "mcp__git__push", True),
        ("mcp__git__*", "mcp__git__push", True),
        ("mcp__git__push", "mcp__git__push", True),
        ("mcp__git__pu*", "mcp__git__push", True),
        ("mcp__git_push", "mcp__git__push", True),
        ("mcp__my_srv", "mcp__my-srv__a", True),
        ("mcp__my-srv__a-b", "mcp__my_srv__a_b", True),
        ("mcp__*", "mcp__git__push", True),
        ("mcp__git", "mcp__git_hub__push", False),
        ("mcp__git__*", "mcp__git_hub__push", False),
        ("mcp__git__pull", "mcp__git__push", False),
        ("mcp__git__push", "mcp__git__push_2", False),
        ("read", "read", True),
        ("read", "mcp__read__read", False),
    ],
)
def test_a_written_name_means_a_tool(written: str, name: str, matches: bool) -> None:
    assert tool_matches(written, name) is matches


# Contents -----------------------------------------------------------------------------------------

WIDE = Limits(characters=10_000)


@pytest.mark.parametrize(
    ("structured", "text", "repeated"),
    [
        ({"a": 1}, '{"a": 1}', True),
        ({"result": 7}, "7", True),
        ({"result": "x"}, "x", True),
        ({"result": [1, 2]}, "[1, 2]", True),
        ({"a": 1}, "something else", False),
        ({"content": "a file\n"}, "a file\n", True),
        ({"content": "a file", "lines": 1}, "a file", False),
        ({"content": ["one", "two"]}, "one", False),
    ],
)
def test_structured_content_is_shown_unless_a_text_repeats_it(
    structured: Any, text: str, *, repeated: bool
) -> None:
    result = {"content": [{"type": "text", "text": text}], "structuredContent": structured}
    limited_result, _ = call_result(result, WIDE)
    assert (len(limited_result.blocks) == 1) == repeated


def test_a_long_value_that_a_text_repeats_is_sent_once() -> None:
    file = "line of a file\n" * 1000
    structured = {"files": [{"content": file, "path": "a.txt"}]}
    result = {"content": [{"type": "text", "text": file}], "structuredContent": structured}

    limited_result, _ = call_result(result, Limits(characters=100_000))

    texts = [block.text for block in limited_result.blocks if isinstance(block, Text)]
    assert texts[0] == file
    assert json.loads(texts[1]) == {"files": [{"content": "[as above]", "path": "a.txt"}]}


def test_every_kind_of_content_reaches_the_model() -> None:
    result = {
        "content": [
            {"type": "text", "text": "a\x1b[31mred\x1b[0m"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "image", "data": "not base64!", "mimeType": "image/png"},
            {"type": "image", "data": "aGk=", "mimeType": "image/tiff"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "x://1", "name": "n"},
            {"type": "resource", "resource": {"uri": "x://2", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "x://3", "blob": "aGk="}},
            {"type": "hologram"},
            "nonsense",
        ]
    }
    limited_result, is_error = call_result(result, WIDE)
    texts = [block.text for block in limited_result.blocks if isinstance(block, Text)]
    assert not is_error and sum(isinstance(block, Image) for block in limited_result.blocks) == 1
    assert "\x1b" not in texts[0] and "inside" in texts
    assert any("hologram" in text for text in texts)


def test_long_results_are_truncated_and_the_full_text_is_kept() -> None:
    limited_result = limit_blocks([Text(text="x" * 30), Text(text="y" * 30)], Limits(characters=40))
    assert [len(block.text) for block in limited_result.blocks if isinstance(block, Text)] == [
        30,
        10,
    ]
    assert limited_result.whole == "x" * 30 + "\n" + "y" * 30


# Protocol -----------------------------------------------------------------------------------------


def test_headers_of_modern_requests_are_encoded() -> None:
    schema = {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
            "bad": {"type": "string", "x-mcp-header": "not a token"},
        }
    }
    arguments = {"region": " süd", "deep": {"on": True}, "bad": "x"}
    params = {"name": "größe", "arguments": arguments}
    headers = client_messages.routing_headers({"method": "tools/call", "params": params}, schema)
    assert headers == {
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?Z3LDtsOfZQ==?=",
        "Mcp-Param-Region": "=?base64?IHPDvGQ=?=",
        "Mcp-Param-On": "true",
    }


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        ({"type": "string", "x-mcp-header": "Region"}, ""),
        ({"type": "string", "x-mcp-header": "not a token"}, "not the name of a header"),
        ({"type": "number", "x-mcp-header": "Region"}, "not on a text, integer or boolean"),
    ],
)
def test_invalid_header_annotations_of_arguments_are_reported(
    annotation: dict[str, Any], problem: str
) -> None:
    assert problem in client_messages.header_problem({"properties": {"a": annotation}})
    twice = {"properties": {"a": annotation, "b": {"properties": {"c": annotation}}}}
    assert client_messages.header_problem(twice)


@pytest.mark.parametrize(
    ("template", "uri", "matches"),
    [
        ("note://{id}", "note://1", True),
        ("note://{id}", "other://1", False),
        ("file:///{+path}", "file:///a/b?c", True),
        ("a://{x}/b", "a://1/b", True),
        ("a://{x}/b", "a://1/c", False),
    ],
)
def test_uri_templates_match_uris(template: str, uri: str, *, matches: bool) -> None:
    assert server_messages.matches_template(template, uri) == matches


def test_lines_are_split_at_any_place_and_long_ones_dropped() -> None:
    lines = Lines(limit=10)
    data = b"one\ntwo\n" + b"x" * 50 + b"\nthree\n"
    split_lines = [line for n in range(len(data)) for line in lines.feed(data[n : n + 1])]
    assert split_lines == [b"one", b"two", b"three"]
    assert [(line.size, line.id) for line in lines.dropped] == [(50, None)]


@pytest.mark.parametrize(
    ("line", "id"),
    [
        ('{"jsonrpc":"2.0","id":7,"result":{"text":"BIG"}}', 7),
        ('{"id": "7", "jsonrpc": "2.0", "result": {"text": "BIG"}}', 7),
        ('{"jsonrpc":"2.0","result":{"text":"BIG"},"id":7}', 7),
        ('{"result":{"id":9,"text":"BIG"},"id":7,"jsonrpc":"2.0"}', 7),
        ('{"method":"notifications/message","params":{"text":"BIG"}}', None),
        ('{"result":{"text":"BIG \\"id\\":9,"}}', None),
    ],
)
def test_the_id_of_a_dropped_line_is_known_from_its_start_or_end(line: str, id: int | None) -> None:
    lines = Lines(limit=1000)

    assert [*lines.feed(line.replace("BIG", "x" * 5000).encode() + b"\n")] == []

    assert [dropped.id for dropped in lines.dropped] == [id]


# Definitions --------------------------------------------------------------------------------------


def read(path: str, text: str, root: str = "project") -> ConfigFile:
    kind = next(kind for kind in FILES if kind.path == path and kind.place == root)
    return kind.read(parse_file(text, Path(path)), None)


SAMPLES: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "project",
        ".pi/mcp.json",
        '{"mcpServers": {"s": {"command": "npx", "args": ["-y", "x"], "timeout": 5000}}}',
        {"command": ("npx", "-y", "x"), "timeout": 5.0},
    ),
    (
        "project",
        ".codex/config.toml",
        '[mcp_servers.s]\nurl = "https://x.org/mcp"\nbearer_token_env_var = "T"\n'
        'http_headers = { A = "1" }\nenv_http_headers = { B = "VB" }\nstartup_timeout_sec = 20\n'
        'tool_timeout_sec = 7\nenabled_tools = ["a"]\n',
        {
            "url": "https://x.org/mcp",
            "bearer_token_env": "T",
            "headers": {"A": "1", "B": "${VB}"},
            "start_timeout": 20.0,
            "timeout": 7.0,
            "only_tools": ("a",),
        },
    ),
    (
        "project",
        ".gemini/settings.json",
        '{"mcpServers": {"s": {"url": "http://x/sse", "includeTools": ["a"]}}}',
        {"transport": "sse", "only_tools": ("a",)},
    ),
    (
        "project",
        "opencode.json",
        '{"mcp": {"s": {"type": "local", "command": ["a", "b"], "environment": {"K": "1"}}}}',
        {"command": ("a", "b"), "env": {"K": "1"}},
    ),
    (
        "project",
        ".vscode/mcp.json",
        '{"servers": {"s": {"type": "http", "url": "https://x.org"}}, /* comment */ "inputs": []}',
        {"transport": "http", "fallback_to_sse": False},
    ),
    (
        "home",
        ".codeium/windsurf/mcp_config.json",
        '{"mcpServers": {"s": {"serverUrl": "https://x.org/sse", "disabled": true}}}',
        {"url": "https://x.org/sse", "enabled": False, "fallback_to_sse": True},
    ),
]


@pytest.mark.parametrize(("place", "path", "text", "expected"), SAMPLES)
def test_files_of_all_agents_are_read(
    place: str, path: str, text: str, expected: dict[str, Any]
) -> None:
    (server,) = read(path, text, place).servers
    assert server.name == "s" and not server.problem
    assert {key: getattr(server, key) for key in expected} == expected


def test_invalid_servers_are_reported_with_the_reason() -> None:
    servers = {
        "empty": {},
        "ftp": {"url": "ftp://x"},
        "asks": {"command": "x", "env": {"K": "${input:key}"}},
    }
    problems = {server.name: server.problem for server in from_settings(servers).servers}
    assert all(problems.values()) and "${input:…}" in problems["asks"]


@pytest.mark.behaviour("mcp-names-and-servers")
def test_duplicate_names_and_contents_are_shadowed_and_disabled_servers_stay_disabled() -> None:
    first = from_settings({"a": {"command": "x", "disabled": True}, "b": {"command": "y"}})
    second = from_settings(
        {"a": {"command": "other"}, "c": {"command": "y"}, "d": {"command": "d"}}
    )
    off = ConfigFile(disabled=frozenset({"d"}))
    merged = merge([(first, "1", True, False), (second, "2", False, True), (off, "3", True, False)])
    states = {(server.name, server.source): server.shadowed_by for server in merged}
    assert states == {
        ("a", "1"): "",
        ("b", "1"): "",
        ("a", "2"): "1",
        ("c", "2"): "1",
        ("d", "2"): "",
    }
    assert {server.name for server in merged if not server.definition.enabled} == {"a", "d"}


@pytest.mark.parametrize(
    "name", ["mi\u200bne", "mine\u3164", "mi\u202ene", "mine\t", "\x1b[1mmine"]
)
def test_a_name_that_looks_like_another_one_is_not_used(name: str) -> None:
    merged = merge([(from_settings({name: {"command": "x"}}), "1", True, False)])
    assert [server.definition.problem for server in merged] == [
        "its name has characters that are not visible"
    ]
    plain = merge([(from_settings({"Météo 1": {"command": "x"}}), "1", True, False)])
    assert [server.definition.problem for server in plain] == [""]


def test_the_digest_depends_on_everything_that_is_executed() -> None:
    base = Definition(name="a", command=("x",), env={"K": "1"})
    assert base.digest == Definition(name="b", command=("x",), env={"K": "1"}).digest
    assert base.digest != Definition(name="a", command=("x",), env={"K": "2"}).digest


def test_files_are_ordered_as_documented() -> None:
    assert [(kind.place, kind.path) for kind in FILES][:3] == [
        ("project", ".pi/mcp.json"),
        ("agent", "mcp.json"),
        ("home", ".claude.json"),
    ]
    assert [(kind.place, kind.path) for kind in FILES if kind.is_own] == [("agent", "mcp.json")]


# Values -------------------------------------------------------------------------------------------


def expanded(
    definition: Definition, environ: dict[str, str], *, is_project: bool = False
) -> Definition:
    async def run(command: str) -> str:
        return f"ran {command}\n"

    configured = Configured(definition=definition, source="f", is_own=True, is_project=is_project)
    values = Values(configured, environ=environ, cwd=Path("/project"), run=run)
    return asyncio.run(values.definition())


def test_variables_and_commands_in_definitions_are_expanded() -> None:
    raw = Definition(
        name="s",
        command=("${A}", "${env:A}", "${B:-b}", "${workspaceFolder}/x", "!date"),
        bearer_token_env="TOKEN",
    )
    done = expanded(raw, {"A": "1", "TOKEN": "t"})
    assert done.command == ("1", "1", "b", "/project/x", "ran date")
    assert done.headers == {"Authorization": "Bearer t"}


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(McpError, match="the variable NOPE is not set"):
        expanded(Definition(name="s", command=("${NOPE}",)), {})


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "OPENAI_API_KEY", "DB_PASSWORD", "GH_PAT"])
def test_credentials_are_not_expanded_in_project_files(name: str) -> None:
    raw = Definition(name="s", url="https://evil.example", headers={"X": f"${{{name}}}"})
    with pytest.raises(McpError, match="looks like a credential"):
        expanded(raw, {name: "secret"}, is_project=True)
    assert expanded(raw, {name: "secret"}).headers == {"X": "secret"}
    plain = Definition(name="s", command=("${LANG}",))
    assert expanded(plain, {"LANG": "C"}, is_project=True).command == ("C",)


# Timeouts, search, arguments, forms ---------------------------------------------------------------


def test_limits_come_from_the_environment_or_the_definition() -> None:
    plain = Definition(name="s")
    assert start_timeout(plain, {}) == 60 and start_timeout(plain, {"MCP_TIMEOUT": "500"}) == 0.5
    assert request_timeout(plain, {}) == 300
    assert request_timeout(Definition(name="s", timeout=0), {}) is None
    assert request_timeout(plain, {"PI_MCP_TIMEOUT_MS": "1000"}) == 1
    assert request_timeout(plain, {"OMP_MCP_TIMEOUT_MS": "0"}) is None
    assert output_tokens({"MAX_MCP_OUTPUT_TOKENS": "7"}, 1) == 7 and output_tokens({}, 1) == 1


@pytest.mark.parametrize(
    ("value", "share"), [("auto", 10), ("auto:5", 5), ("true", 0), ("0", None), ("odd", 10)]
)
def test_the_context_share_for_tool_search_is_configurable(value: str, share: float | None) -> None:
    assert search_share({"ENABLE_TOOL_SEARCH": value}) == share


def test_arguments_of_prompts_are_matched_by_name_and_position() -> None:
    prompt = PromptInfo(name="p", arguments=(PromptArgument(name="a"), PromptArgument(name="b")))
    assert prompt_arguments(prompt, 'x "y z"') == {"a": "x", "b": "y z"}
    assert prompt_arguments(prompt, "b=1 x") == {"a": "x", "b": "1"}
    assert prompt_arguments(prompt, "x it's so") == {"a": "x", "b": "it's so"}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "integer", "minimum": 2}, "3", 3),
        ({"type": "integer", "minimum": 2}, "1", None),
        ({"type": "number"}, "x", None),
        ({"type": "number"}, "nan", None),
        ({"type": "string", "maxLength": 2}, "abc", None),
        ({"type": "string", "format": "email"}, "a@b", "a@b"),
        ({"type": "string", "format": "date"}, "31.1.2026", None),
        ({"type": "string", "format": "date-time"}, "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
    ],
)
def test_answers_to_forms_are_checked(schema: dict[str, Any], text: str, value: Any) -> None:
    if value is None:
        with pytest.raises(InvalidAnswer, match="Enter"):
            field_value(schema, text)
    else:
        assert field_value(schema, text) == value


def test_arguments_of_mcp_add_are_parsed() -> None:
    assert parse_added(["--env", "K=1", "npx", "-y", "x", "--header", "no"]).definition == {
        "env": {"K": "1"},
        "command": "npx",
        "args": ["-y", "x", "--header", "no"],
    }
    assert parse_added(["https://x.org", "--transport", "sse", "--header", "A: b"]).definition == {
        "url": "https://x.org",
        "type": "sse",
        "headers": {"A": "b"},
    }


# OAuth --------------------------------------------------------------------------------------------

METADATA = {
    "issuer": "https://auth.example",
    "authorization_endpoint": "https://auth.example/a",
    "token_endpoint": "https://auth.example/t",
    "code_challenge_methods_supported": ["S256"],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"issuer": "https://evil.example"}, "calls itself 'https://evil.example'"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"code_challenge_methods_supported": None}, "PKCE"),
        ({"token_endpoint": ""}, "names no endpoints"),
        ({"authorization_endpoint": "file:///etc/passwd"}, "not an http address: file:///etc"),
        ({"registration_endpoint": "javascript:x"}, "not an http address"),
    ],
)
def test_unsafe_authorization_servers_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(McpError, match=message):
        authorization("s", "https://auth.example", METADATA | change, resource="r", scope="")


def test_the_issuer_is_the_discovered_one_and_callbacks_must_name_the_published_one() -> None:
    checked = authorization("s", "https://auth.example/", METADATA, resource="r", scope="")

    assert (checked.issuer, checked.callback_issuer) == (
        "https://auth.example/",
        "https://auth.example",
    )


@pytest.mark.parametrize(
    ("server", "host", "is_allowed"),
    [
        ("https://mcp.example/mcp", "93.184.216.34", True),
        ("https://mcp.example/mcp", "10.1.2.3", True),
        ("https://mcp.example/mcp", "127.0.0.1", False),
        ("https://mcp.example/mcp", "::1", False),
        ("https://mcp.example/mcp", "169.254.169.254", False),
        ("http://localhost:8000/mcp", "127.0.0.1", True),
        ("http://127.0.0.2:8000/mcp", "::1", True),
        ("http://127.0.0.1:8000/mcp", "169.254.169.254", False),
    ],
)
def test_a_login_reaches_this_machine_only_for_servers_on_it(
    server: str, host: str, is_allowed: bool
) -> None:
    with nullcontext() if is_allowed else pytest.raises(AddressRefused):
        discovery_policy(server).check(host, 80, host)


def test_metadata_is_requested_at_the_well_known_urls() -> None:
    assert [*well_known("https://x.org/a/mcp", "oauth-protected-resource")] == [
        "https://x.org/.well-known/oauth-protected-resource/a/mcp",
        "https://x.org/.well-known/oauth-protected-resource",
    ]
    header = 'Bearer error="x", resource_metadata="https://x.org/m", scope="a b"'
    assert challenge_parameters(header)["resource_metadata"] == "https://x.org/m"
    assert is_same_resource("https://x.org/a", "https://x.org/a/mcp")
    assert not is_same_resource("https://x.org/a", "https://x.org/ab")
    assert not is_same_resource("https://evil.org/a", "https://x.org/a")
