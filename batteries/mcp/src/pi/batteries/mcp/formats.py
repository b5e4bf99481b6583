"""Definitions of servers in the configuration files of pi and of other agents. Pure.

``FILES`` lists the files, the highest priority first. The first definition of a name is used; a
later one of the same name, or with the same content, is shadowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pi.base.formats import parse_jsonc, parse_toml
from pi.batteries.mcp.definitions import (
    EXPOSURES,
    ConfigFile,
    Configured,
    Definition,
    Exposure,
    Read,
    ServerChange,
    TransportKind,
)
from pi.extension import BadFormat, BadResource, Json, Record, Where, neutralise, replace
from pi.extension.guards import mcp_key


def _standard(raw: Json, key: str = "mcpServers") -> ConfigFile:
    """The format of most agents: ``mcpServers``."""
    servers = tuple(_server(name, server) for name, server in _items(raw.get(key)))
    enabled = raw.get("enabledServers")
    return ConfigFile(
        servers=servers,
        disabled=frozenset(_texts(raw.get("disabledServers"))),
        enabled=frozenset(_texts(enabled)) if isinstance(enabled, list) else None,
    )


def _server(name: str, raw: Json) -> Definition:
    command = raw.get("command")
    argv = _texts(command) if isinstance(command, list) else [command] if command else []
    url = _text(raw, "httpUrl") or _text(raw, "url") or _text(raw, "serverUrl")
    kind = _text(raw, "type") or _text(raw, "transport")
    transport: TransportKind = "stdio" if not url else "sse" if kind == "sse" else "http"
    timeout, start = _number(raw, "timeout"), _number(raw, "startupTimeout")
    included = raw.get("includeTools", raw.get("enabledTools"))
    exposure, tool_exposure = _text(raw, "exposure"), _strings(raw.get("toolExposure"))
    return _check_definition(
        Definition(
            name=name,
            transport=transport,
            command=(*map(str, argv), *_texts(raw.get("args"))),
            env=_strings(raw.get("env")),
            cwd=_text(raw, "cwd"),
            url=url,
            headers=_strings(raw.get("headers")),
            fallback_to_sse=transport == "http" and kind in ("", "remote") and "httpUrl" not in raw,
            enabled=raw.get("disabled") is not True and raw.get("enabled") is not False,
            timeout=None if timeout is None else timeout / 1000,
            start_timeout=None if start is None else start / 1000,
            only_tools=tuple(_texts(included)) if isinstance(included, list) else None,
            without_tools=tuple(_texts(raw.get("excludeTools", raw.get("disabledTools")))),
            exposure=EXPOSURES.get(exposure),
            tool_exposure=_exposures(tool_exposure),
            wants_codemode=any(
                name.startswith("codemode") for name in (exposure, *tool_exposure.values())
            ),
            description=_text(raw, "description"),
            oauth=raw["oauth"] if isinstance(raw.get("oauth"), dict) else {},
        )
    )


def _exposures(names: dict[str, str]) -> dict[str, Exposure]:
    """The valid exposures of a table by tool."""
    return {tool: EXPOSURES[name] for tool, name in names.items() if name in EXPOSURES}


def _pi(raw: Json, locations: Where | None) -> ConfigFile:
    """The files of pi: time limits are seconds there, in older files milliseconds."""
    file = _standard(raw)
    servers = []
    for server, (_, entry) in zip(file.servers, _items(raw.get("mcpServers")), strict=True):
        timeout = _number(entry, "timeout")
        if timeout is not None and timeout < MILLISECONDS_FROM:
            server = replace(server, timeout=timeout)
        if entry.get("auth") is not None and not server.problem:
            server = replace(server, problem="its auth names a login, which is not supported here")
        servers.append(server)
    return replace(file, servers=tuple(servers))


def _pi_of_project(raw: Json, locations: Where | None) -> ConfigFile:
    """The file of pi in a project: entries without a server change those of the user."""
    entries = raw.get("mcpServers")
    partial = [
        (name, entry)
        for name, entry in _items(entries)
        if entry.keys().isdisjoint(("command", "url", "type", "httpUrl", "serverUrl"))
    ]
    names = {name for name, _ in partial}
    # An entry that says nothing changes nothing.
    partial = [(name, entry) for name, entry in partial if entry]
    whole = {name: entry for name, entry in _items(entries) if name not in names}
    changes = tuple(
        ServerChange(
            name=name,
            enabled=_enabled(entry),
            exposure=EXPOSURES.get(_text(entry, "exposure")),
            tool_exposure=_exposures(_strings(entry.get("toolExposure"))),
        )
        for name, entry in partial
    )
    return replace(_pi({**raw, "mcpServers": whole}, locations), changes=changes)


def _enabled(entry: Json) -> bool | None:
    """What an entry says about its server being on; ``None`` if it says nothing."""
    if isinstance(entry.get("enabled"), bool):
        return bool(entry["enabled"])
    return not entry["disabled"] if isinstance(entry.get("disabled"), bool) else None


MILLISECONDS_FROM = 1000
"""Time limits of pi's files from this number on are milliseconds, as older files have them."""


def _claude_user(raw: Json, locations: Where | None) -> ConfigFile:
    """``~/.claude.json``: servers of the user, and those of single projects."""
    servers = _standard(raw).servers
    projects = raw.get("projects")
    if locations is not None and isinstance(projects, dict):
        own = projects.get(str(locations.cwd))
        servers = (*(_standard(own).servers if isinstance(own, dict) else ()), *servers)
    return ConfigFile(servers=servers)


def _codex(raw: Json, locations: Where | None) -> ConfigFile:
    servers = []
    for name, server in _items(raw.get("mcp_servers")):
        definition = _server(
            name, {**server, "timeout": None, "headers": server.get("http_headers")}
        )
        from_env = {
            key: f"${{{name}}}" for key, name in _strings(server.get("env_http_headers")).items()
        }
        enabled = server.get("enabled_tools")
        servers.append(
            replace(
                definition,
                headers={**definition.headers, **from_env},
                bearer_token_env=_text(server, "bearer_token_env_var"),
                timeout=_number(server, "tool_timeout_sec"),
                start_timeout=_number(server, "startup_timeout_sec"),
                only_tools=tuple(_texts(enabled)) if isinstance(enabled, list) else None,
                without_tools=tuple(_texts(server.get("disabled_tools"))),
            )
        )
    return ConfigFile(servers=tuple(servers))


def _opencode(raw: Json, locations: Where | None) -> ConfigFile:
    servers = (
        _server(name, {**server, "env": server.get("environment"), "type": ""})
        for name, server in _items(raw.get("mcp"))
    )
    return ConfigFile(servers=tuple(servers))


def _gemini(raw: Json, locations: Where | None) -> ConfigFile:
    """The format of Gemini: ``url`` is the older transport, ``httpUrl`` the streamable one."""
    servers = (
        _server(name, {**server, "type": "http" if "httpUrl" in server else "sse"})
        for name, server in _items(raw.get("mcpServers"))
    )
    return ConfigFile(servers=tuple(servers))


def _vs_code(raw: Json, locations: Where | None) -> ConfigFile:
    return _standard(raw, "servers")


def _plain(raw: Json, locations: Where | None) -> ConfigFile:
    return _standard(raw)


class FileKind(Record):
    """A configuration file: where it is, and how it is read."""

    place: Literal["project", "home", "agent"]
    path: str
    read: Read = _plain
    is_own: bool = False


FILES = (
    FileKind(place="project", path=".pi/mcp.json", read=_pi_of_project),
    FileKind(place="agent", path="mcp.json", read=_pi, is_own=True),
    FileKind(place="home", path=".claude.json", read=_claude_user),
    FileKind(place="project", path=".claude/mcp.json"),
    FileKind(place="project", path=".codex/config.toml", read=_codex),
    FileKind(place="home", path=".codex/config.toml", read=_codex),
    FileKind(place="project", path=".gemini/settings.json", read=_gemini),
    FileKind(place="home", path=".gemini/settings.json", read=_gemini),
    FileKind(place="project", path="opencode.json", read=_opencode),
    FileKind(place="home", path=".config/opencode/opencode.json", read=_opencode),
    FileKind(place="project", path=".cursor/mcp.json"),
    FileKind(place="home", path=".cursor/mcp.json"),
    FileKind(place="home", path=".codeium/windsurf/mcp_config.json"),
    FileKind(place="project", path=".vscode/mcp.json", read=_vs_code),
    FileKind(place="project", path="mcp.json"),
    FileKind(place="project", path=".mcp.json"),
)
"""All configuration files, the highest priority first."""


def path_of(kind: FileKind, locations: Where) -> Path:
    """The path of the file."""
    roots = {"project": locations.cwd, "home": locations.home, "agent": locations.agent_dir}
    return roots[kind.place] / kind.path


def parse_file(text: str, path: Path) -> Json:
    """The content of a configuration file. Raises ``BadResource``."""
    try:
        raw = parse_toml(text) if path.suffix == ".toml" else parse_jsonc(text)
    except BadFormat as error:
        raise BadResource(f"{path} {error.message}") from error
    if not isinstance(raw, dict):
        raise BadResource(f"{path} is not an object.")
    return raw


MAX_SERVER = 40
"""Maximum characters of the name of a server: rules need all of it in the names of its tools."""


def server_word(name: str) -> str:
    """The name of a server in the names of its tools, ``mcp__<server>__<tool>``.

    It has no ``__``, so that the names of two servers cannot begin alike.
    """
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", name)).strip("_") or "x"


def _with_distinct_names(servers: Sequence[Configured]) -> tuple[Configured, ...]:
    """The servers, with a problem for those whose tools could not be told apart."""
    used = [server for server in servers if not server.shadowed_by and server.definition.enabled]
    by_name: dict[str, list[Configured]] = {}
    for server in used:
        by_name.setdefault(mcp_key(server_word(server.name)), []).append(server)

    def find_problem(server: Configured) -> str:
        if len(server_word(server.name)) > MAX_SERVER:
            return f"its name is longer than {MAX_SERVER} characters"
        if not server.name.isprintable() or neutralise(server.name) != server.name:
            # In a question it would look like the name of another server.
            return "its name has characters that are not visible"
        same = [] if server not in used else by_name[mcp_key(server_word(server.name))]
        names = [f"{other.name} ({other.source})" for other in same if other != server]
        if not names:
            return ""
        others = ", ".join(names)
        return f"in {server.source} it has the same name as {others}: - and _ count as equal"

    return tuple(
        replace(server, definition=replace(server.definition, problem=text))
        if not server.definition.problem and (text := find_problem(server))
        else server
        for server in servers
    )


def merge(files: Sequence[tuple[ConfigFile, str, bool, bool]]) -> tuple[Configured, ...]:
    """All servers of files in order of priority: content, path, whether own, whether of a project.

    ``disabledServers`` of any file disables the servers of all files.
    """
    changes = {change.name: change for file, *_ in reversed(files) for change in file.changes}
    used: dict[str, str] = {}
    contents: dict[str, str] = {}
    off = frozenset[str]().union(*(file.disabled for file, *_ in files))
    merged: list[Configured] = []
    for file, source, is_own, is_project in files:
        for server in file.servers:
            name = server.name
            only = file.enabled is not None and name not in file.enabled
            if not is_project and name in changes:
                server = changes[name].applied(server)
            definition = replace(server, enabled=False) if name in off or only else server
            by = used.get(name) or contents.get(definition.digest) or ""
            if not by:
                used[name] = contents[definition.digest] = source
            merged.append(
                Configured(
                    definition=definition,
                    source=source,
                    is_own=is_own,
                    is_project=is_project,
                    shadowed_by=by,
                )
            )
    for file, source, is_own, is_project in files:
        for change in file.changes:
            if change.name not in used:  # there is nothing to change
                used[change.name] = source
                definition = Definition(name=change.name, problem=NOTHING_TO_RUN)
                merged.append(
                    Configured(
                        definition=definition, source=source, is_own=is_own, is_project=is_project
                    )
                )
    return _with_distinct_names(merged)


NOTHING_TO_RUN = "it has neither a command nor a url"


def from_settings(raw: Any) -> ConfigFile:
    """The servers of the setting ``mcp.servers``."""
    return _standard({"mcpServers": raw})


def _check_definition(definition: Definition) -> Definition:
    """The definition, with ``problem`` set if it is invalid."""
    values = (
        *definition.command,
        *definition.env.values(),
        definition.url,
        *definition.headers.values(),
    )
    if not definition.command and not definition.url:
        return replace(definition, problem=NOTHING_TO_RUN)
    if definition.url and not definition.url.startswith(("http://", "https://", "$", "!")):
        return replace(definition, problem=f"its url {definition.url!r} is not an http address")
    if any("${input:" in value for value in values):
        return replace(definition, problem="it asks for ${input:…}, which only VS Code can fill in")
    return definition


def _items(value: Any) -> Iterable[tuple[str, Json]]:
    items = value.items() if isinstance(value, dict) else ()
    return [(name, member) for name, member in items if isinstance(member, dict) and name]


def _strings(value: Any) -> dict[str, str]:
    items = value.items() if isinstance(value, dict) else ()
    return {name: _plain_text(member) for name, member in items if member is not None}


def _plain_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _texts(value: Any) -> list[str]:
    return [str(member) for member in value] if isinstance(value, list) else []


def _text(raw: Json, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _number(raw: Json, key: str) -> float | None:
    value = raw.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
