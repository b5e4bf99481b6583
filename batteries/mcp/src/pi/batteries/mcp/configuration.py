"""Reads the configuration files of servers, and asks for consent to what is not the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from pi.batteries.mcp import formats
from pi.batteries.mcp.definitions import ConfigFile, Configured
from pi.batteries.mcp.formats import FILES, server_word
from pi.extension import ConsentRequest, ExtensionAPI, PiError, Record, Where, replace
from pi.extension.guards import mcp_key

KIND = "mcp-files"
SETTINGS_SOURCE = "settings"


class ServersFile(Record):
    """A configuration file and its content."""

    content: ConfigFile
    source: str
    is_own: bool
    is_project: bool

    @property
    def switched_off(self) -> frozenset[str]:
        """The names that the file switches off: by its list, or by a definition that is off."""
        only = self.content.enabled
        off = (
            server.name
            for server in self.content.servers
            if not server.enabled
            or server.problem
            or (only is not None and server.name not in only)
        )
        return self.content.disabled.union(off)

    def without(self, names: Set[str]) -> ServersFile:
        """The file without its effect on these servers, which other files define."""
        clashing = {name for server in self.content.servers for name in _alike(server.name, names)}
        switched_off = self.switched_off & names
        servers = tuple(
            server
            for server in self.content.servers
            if server.name not in switched_off and not _alike(server.name, clashing)
        )
        content = replace(
            self.content,
            servers=servers,
            changes=tuple(c for c in self.content.changes if c.name not in names),
            disabled=self.content.disabled - names,
        )
        return replace(self, content=content)


class Configuration:
    """Reads the MCP files of all agents, and asks the user for consent to foreign servers."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self.where: Where | None = None
        """The directories of configuration files, once they were read."""
        resources = pi.context.resources
        for priority, kind in enumerate(reversed(FILES)):
            resources.add_source(KIND, self._finder(kind), priority=priority)
        resources.add_kind(KIND, lambda text, path: (path, text), lambda entry: str(entry[0]))

    def _finder(self, kind: formats.FileKind) -> Any:
        def find(locations: Where) -> Any:
            self.where = locations
            return [formats.path_of(kind, locations)]

        return find

    async def load(self) -> tuple[tuple[Configured, ...], list[Configured]]:
        """All definitions, including shadowed ones, and those of them that may run.

        Invalid files are reported. The user's own servers need no consent. What a project changes
        about them does: without it, its servers replace none, and its list switches none off.
        """
        files = await self._with_allowed_lists(self._files())
        denied: set[tuple[str, str]] = set()
        while True:
            configured = formats.merge(_without_replacing(files, denied))
            usable = [
                server
                for server in configured
                if not server.shadowed_by
                and server.definition.enabled
                and not server.definition.problem
            ]
            allowed = await self._allowed_servers(usable, _replaced_servers(files))
            refused = {(server.source, server.name) for server in usable if server not in allowed}
            if refused <= denied:
                return configured, allowed
            # A server behind a refused one may be used now, and may need consent itself.
            denied |= refused

    def _files(self) -> list[ServersFile]:
        settings = self._pi.settings
        files: list[ServersFile] = []
        # Settings of the project are ignored: its servers belong in a file, which needs consent.
        configured = settings.get("mcp.servers", with_project=False)
        if configured:
            content = formats.from_settings(configured)
            own = ServersFile(
                content=content, source=SETTINGS_SOURCE, is_own=True, is_project=False
            )
            files.append(own)
        of_project = settings.get("mcp.enableProjectConfig")
        for item in self._pi.context.resources.load(KIND):
            path, text = item.value
            kind = self._kind(path)
            if kind is None or (kind.place == "project" and not of_project):
                continue
            try:
                raw = formats.parse_file(text, path)
            except PiError as error:
                self._pi.warn(f"MCP servers of {path} are left out: {error.message}")
                continue
            files.append(
                ServersFile(
                    content=kind.read(raw, self.where),
                    source=str(path),
                    is_own=kind.is_own,
                    is_project=kind.place == "project",
                )
            )
        return files

    def _kind(self, path: Any) -> formats.FileKind | None:
        locations = self.where
        if locations is None:
            return None
        return next((kind for kind in FILES if formats.path_of(kind, locations) == path), None)

    async def _with_allowed_lists(self, files: list[ServersFile]) -> list[ServersFile]:
        """The files; lists of a project only with consent if they name servers of other files."""
        of_user = {
            server.name for file in files if not file.is_project for server in file.content.servers
        }
        requests: dict[str, ConsentRequest] = {}
        for file in files:
            clashing = {name for s in file.content.servers for name in _alike(s.name, of_user)}
            changes = {c.name: c.describes for c in file.content.changes if c.name in of_user}
            names = (file.switched_off & of_user) | clashing
            if file.is_project and (names or changes):
                requests[file.source] = ConsentRequest(
                    kind="MCP list",
                    name="changes" if changes else "disabledServers",
                    source=file.source,
                    definition={
                        **({"switchesOff": sorted(names)} if names else {}),
                        **({"changes": changes} if changes else {}),
                    },
                    verb="Apply",
                )
        accepted = await self._pi.consent.allowed(requests.values()) if requests else []
        refused = requests.keys() - {request.source for request in accepted}
        return [file.without(of_user) if file.source in refused else file for file in files]

    async def _allowed_servers(
        self, usable: list[Configured], replaced: Mapping[tuple[str, str], str]
    ) -> list[Configured]:
        """The user's own servers, and those of other files that the user accepted."""
        requests = {}
        for server in usable:
            if not server.is_own:
                behind = replaced.get((server.source, server.name))
                note = {"replacesServerOf": behind} if behind else {}
                requests[server.name] = ConsentRequest(
                    kind="MCP server",
                    name=server.name,
                    source=server.source,
                    definition={**server.definition.runs, **note},
                )
        accepted = await self._pi.consent.allowed(requests.values()) if requests else []
        names = {request.name for request in accepted}
        return [server for server in usable if server.is_own or server.name in names]


def _alike(name: str, others: Set[str]) -> set[str]:
    """The other names that count as equal: servers with such names cannot be used together."""
    key = mcp_key(server_word(name))
    return {other for other in others if other != name and mcp_key(server_word(other)) == key}


def _replaced_servers(files: Sequence[ServersFile]) -> dict[tuple[str, str], str]:
    """The file of the user whose server a project replaces, by source and name of the server."""
    replaced: dict[tuple[str, str], str] = {}
    for position, file in enumerate(files):
        for server in file.content.servers if file.is_project else ():
            for other in files[position + 1 :]:
                # Equal content replaces as well, whatever the names are.
                is_same = any(
                    server.name == own_server.name or server.digest == own_server.digest
                    for own_server in other.content.servers
                )
                if not other.is_project and is_same:
                    replaced.setdefault((file.source, server.name), other.source)
    return replaced


def _without_replacing(
    files: Sequence[ServersFile], denied: Set[tuple[str, str]]
) -> list[tuple[ConfigFile, str, bool, bool]]:
    """The files for ``merge``, without refused servers that would replace others."""
    replaced = _replaced_servers(files)
    merged = []
    for file in files:
        servers = tuple(
            server
            for server in file.content.servers
            if (key := (file.source, server.name)) not in denied or key not in replaced
        )
        content = replace(file.content, servers=servers)
        merged.append((content, file.source, file.is_own, file.is_project))
    return merged
