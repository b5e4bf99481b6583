"""Makes resources of servers readable as ``mcp://<server>/<uri>`` and by their own URIs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from pi.batteries.mcp import content
from pi.batteries.mcp.protocol import McpError, ResourceInfo
from pi.batteries.mcp.server import McpServer, ServerUser
from pi.batteries.mcp.server_messages import matches_template
from pi.extension import (
    Image,
    Json,
    Resource,
    ResourceRef,
    ResourceWindow,
    Text,
    ToolFailed,
    one_line,
)

SCHEME = "mcp"
_URI = re.compile(r"[a-z][a-z0-9+.-]*:[^\s]+", re.IGNORECASE)
_NOT_OURS = ("file:", "artifact:", "agent:", "mcp:")


class SessionServers(ServerUser, Protocol):
    """The servers of a session."""

    @property
    def servers(self) -> Sequence[McpServer]:
        """The servers that may run."""

    def server(self, name: str) -> McpServer | None:
        """The server of that name."""

    async def watch(self, server: McpServer, uri: str) -> None:
        """Subscribe to a resource that was read."""


class ResourceReader:
    """Reads resources of servers for the file tools."""

    def __init__(self, session: SessionServers) -> None:
        self._session = session

    def parse_native(self, text: str) -> ResourceRef | None:
        """The reference for the URI of a known resource or template; ``None`` for other paths."""
        if not _URI.fullmatch(text) or text.lower().startswith(_NOT_OURS):
            return None
        server = self._owner(text)
        return None if server is None else ResourceRef(text=text, rest=f"{server.name}/{text}")

    def addresses(self, ref: ResourceRef) -> tuple[str, ...]:
        """The address with the name of the server, for rules about servers."""
        return (f"{SCHEME}://{ref.rest}",)

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """The content of a resource, or a list for ``mcp://`` and ``mcp://<server>``.

        Raises ``ToolFailed``.
        """
        name, _, uri = ref.rest.partition("/")
        if not name:
            return Resource(text=self._servers())
        server = self._session.server(name)
        if server is None:
            raise ToolFailed(f"Unknown MCP server {name!r}.\n{self._servers()}")
        try:
            if not uri:
                await server.complete_lists()
                return Resource(text=listing(server))
            result = await server.ask("resources/read", {"uri": uri}, self._session)
            await self._session.watch(server, uri)
        except McpError as error:
            raise ToolFailed(error.explain()) from error
        blocks = resource_blocks(result)
        if any(isinstance(block, Image) for block in blocks):
            return Resource(content=tuple(blocks))
        return Resource(text="\n".join(block.text for block in blocks if isinstance(block, Text)))

    def list(self, ref: ResourceRef) -> Sequence[str]:
        """The names below a reference."""
        name = ref.rest.partition("/")[0]
        if not name:
            return [server.name for server in self._session.servers]
        server = self._session.server(name)
        return (
            [] if server is None else [resource.uri for resource in server.offer.current.resources]
        )

    def complete(self, prefix: str) -> Sequence[str]:
        """Completions of ``<server>/<uri>``."""
        candidates = [f"{server.name}/" for server in self._session.servers]
        for server in self._session.servers:
            candidates += [
                f"{server.name}/{resource.uri}" for resource in server.offer.current.resources
            ]
        return [candidate for candidate in candidates if candidate.startswith(prefix)]

    def _owner(self, uri: str) -> McpServer | None:
        for server in self._session.servers:
            if any(_is(resource, uri) for resource in server.offer.current.resources):
                return server
        return None

    def _servers(self) -> str:
        names = ", ".join(server.name for server in self._session.servers)
        return f"MCP servers: {names or 'none'}. mcp://<server> lists the resources of one."


def resource_blocks(result: Json) -> list[Text | Image]:
    """The texts and pictures of an answer to ``resources/read``."""
    contents = result.get("contents")
    return [
        block
        for entry in (contents if isinstance(contents, list) else [])
        if isinstance(entry, dict)
        for block in content.resource_blocks(entry)
    ]


def listing(server: McpServer) -> str:
    """The resources of a server, one per line."""
    resources = server.offer.current.resources
    if not resources:
        return f"MCP server {server.name} has no resources."
    return "\n".join(
        " ".join(
            filter(
                None,
                (
                    f"mcp://{server.name}/{content.clean(resource.uri)}",
                    "(template)" if resource.is_template else "",
                    one_line(resource.name),
                    one_line(resource.description)[:120],
                ),
            )
        )
        for resource in resources
    )


def _is(resource: ResourceInfo, uri: str) -> bool:
    return matches_template(resource.uri, uri) if resource.is_template else resource.uri == uri
