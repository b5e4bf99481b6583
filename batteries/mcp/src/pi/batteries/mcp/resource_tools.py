"""Tools for the resources of servers: list_mcp_resources, its templates, read_mcp_resource.

They exist while a server offers resources whose definition has an ``exposure``, and have that one.
The read tool reads resources of all servers, so that others need no tools for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec

from pi.batteries.mcp import content
from pi.batteries.mcp.protocol import McpError, ResourceInfo
from pi.batteries.mcp.resources import SessionServers, resource_blocks
from pi.batteries.mcp.server import McpServer
from pi.extension import (
    AgentTool,
    ExtensionAPI,
    Json,
    Meta,
    Record,
    Registration,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
)

LIST = "list_mcp_resources"
TEMPLATES = "list_mcp_resource_templates"
READ = "read_mcp_resource"


class ListParams(Record):
    """Parameters of both lists."""

    server: Annotated[str | None, Meta(description="One server; otherwise all of them")] = None
    cursor: Annotated[
        str | None, Meta(description="Accepted for compatibility: lists are always complete")
    ] = None


class ReadParams(Record):
    """Parameters of ``read_mcp_resource``."""

    server: Annotated[str, Meta(description="The server, as the list names it")]
    uri: Annotated[str, Meta(description="The URI, as the list names it")]


class ResourceTools:
    """Registers the three tools, and removes them with the last server that offers resources."""

    def __init__(self, session: SessionServers, pi: ExtensionAPI) -> None:
        self._session = session
        self._pi = pi
        self._exposure = ""
        self._registered: tuple[Registration, ...] = ()

    def update(self) -> None:
        """Register or remove the tools, after the lists of a server have changed."""
        exposures = {server.configured.definition.exposure for server in self._offering()}
        exposure = next((name for name in ("direct", "deferred") if name in exposures), "")
        if exposure == self._exposure:
            return
        for registration in self._registered:
            registration.remove()
        self._exposure, self._registered = exposure, ()
        if exposure:
            self._registered = tuple(
                self._pi.add_tool(tool, exposure="active" if exposure == "direct" else "deferred")
                for tool in self._tools()
            )

    def _offering(self) -> list[McpServer]:
        return [
            server
            for server in self._session.servers
            if server.configured.definition.exposure in ("direct", "deferred")
            and _offers_resources(server)
        ]

    def _tools(self) -> Iterable[AgentTool]:
        async def resources(params: ListParams, ctx: ToolContext) -> ToolResult:
            return await self._list(params.server, LIST)

        async def templates(params: ListParams, ctx: ToolContext) -> ToolResult:
            return await self._list(params.server, TEMPLATES)

        async def read(params: ReadParams, ctx: ToolContext) -> ToolResult:
            return await self._read(params.server, params.uri)

        yield make_tool(
            name=LIST,
            description="List the resources of MCP servers: files and other data for you.",
            params=ListParams,
            run=resources,
            approval="read",
        )
        yield make_tool(
            name=TEMPLATES,
            description="List the resource templates of MCP servers: URIs with parameters.",
            params=ListParams,
            run=templates,
            approval="read",
        )
        yield make_tool(
            name=READ,
            description="Read a resource of an MCP server.",
            params=ReadParams,
            run=read,
            approval="read",
        )

    async def _list(self, name: str | None, tool: str) -> ToolResult:
        are_templates = tool == TEMPLATES
        entries: list[Json] = []
        for server in self._offering() if name is None else [self._server(name)]:
            try:
                lists = await server.complete_lists()
            except McpError as error:
                raise ToolFailed(error.explain()) from error
            entries += [
                _entry(server, resource)
                for resource in lists.resources
                if resource.is_template == are_templates
            ]
        answer: Json = {} if name is None else {"server": name}
        answer["resourceTemplates" if are_templates else "resources"] = entries
        details = {"server": name or "", "tool": tool}
        return ToolResult.of(msgspec.json.encode(answer).decode(), details=details)

    async def _read(self, name: str, uri: str) -> ToolResult:
        server = self._server(name)
        try:
            result = await server.ask("resources/read", {"uri": uri}, self._session)
            await self._session.watch(server, uri)
        except McpError as error:
            raise ToolFailed(error.explain()) from error
        blocks: Sequence[Any] = resource_blocks(result)
        details = {"server": name, "tool": READ}
        return ToolResult(content=tuple(blocks) or (Text(text="(empty)"),), details=details)

    def _server(self, name: str) -> McpServer:
        names = [server.name for server in self._offering()]
        if name not in names:
            raise ToolFailed(
                f'MCP server "{name}" has no resources. Servers with resources: {", ".join(names)}'
            )
        server = self._session.server(name)
        assert server is not None
        return server


def _offers_resources(server: McpServer) -> bool:
    # The list arrives after the tools, and the first request does not wait for it.
    info = server.info
    return bool(server.offer.current.resources) or (
        info is not None and "resources" in info.capabilities
    )


def _entry(server: McpServer, resource: ResourceInfo) -> Json:
    fields = {
        "server": server.name,
        "uriTemplate" if resource.is_template else "uri": content.clean(resource.uri),
        "name": content.clean(resource.name),
        "description": content.clean(resource.description),
        "mimeType": content.clean(resource.mime_type),
    }
    return {name: value for name, value in fields.items() if value}
