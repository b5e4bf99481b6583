"""The lists of tools, prompts and resources of a server, kept up to date and cached."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from pi.batteries.mcp import client_messages, server_messages
from pi.batteries.mcp.client import Client
from pi.batteries.mcp.protocol import (
    Era,
    McpError,
    PromptInfo,
    ResourceInfo,
    RpcError,
    ToolInfo,
)
from pi.extension import Json, Record, replace

LISTEN_FAILURES = 5
LIST_SECONDS = 60.0


class Lists(Record):
    """Tools, prompts and resources of a server; cached by the hash of its definition."""

    era: Era = "handshake"
    instructions: str = ""
    tools: tuple[ToolInfo, ...] = ()
    prompts: tuple[PromptInfo, ...] = ()
    resources: tuple[ResourceInfo, ...] = ()


class ListHost(Protocol):
    """The server that the lists belong to."""

    @property
    def is_remote(self) -> bool:
        """Whether the server is reached over HTTP."""

    def log(self, text: str) -> None:
        """Add a line to the log."""

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run a task that ends with the server."""


class ListUsers(Protocol):
    """The sessions that use the lists."""

    def debounce(self) -> float:
        """Seconds in which notifications are collected."""

    async def listed(self) -> None:
        """Called when the lists have changed."""


class ServerLists:
    """The lists of one server. They outlive its connections."""

    def __init__(self, host: ListHost, users: ListUsers) -> None:
        self.current = Lists()
        self.is_known = False
        """Whether ``current`` was loaded, from the server or from the cache."""
        self._host = host
        self._users = users
        self._client: Client | None = None
        self._loading: asyncio.Task[Any] | None = None
        self._outdated: set[str] = set()
        self._reloading: asyncio.Task[Any] | None = None
        self._subscribed: set[str] = set()
        self._listening: asyncio.Task[Any] | None = None

    def use_cached(self, lists: Lists) -> None:
        """Use stored lists until the server has answered."""
        if not self.is_known:
            self.current, self.is_known = lists, True

    async def connect(self, client: Client) -> None:
        """Load the tools; the rest follows in the background. Raises ``McpError``."""
        self._client = client
        await self._load_tools(client)
        self._loading = self._host.spawn(self._begin(client), "lists")

    def disconnect(self) -> None:
        """Stop loading and listening; the lists stay."""
        self._client = None
        for task in (self._listening, self._loading, self._reloading):
            if task is not None:
                task.cancel()
        self._listening = None

    async def complete(self) -> Lists:
        """Wait for prompts and resources, and return all lists."""
        if self._loading is not None:
            await asyncio.wait({self._loading})
        return self.current

    def changed(self, kind: str) -> None:
        """Reload a list; several notifications in a row are merged."""
        self._outdated.add(kind)
        if self._reloading is None or self._reloading.done():
            self._reloading = self._host.spawn(self._reload(), "reload lists")

    async def subscribe(self, client: Client, uri: str) -> bool:
        """Subscribe to changes of a resource. Returns False if the server does not support it."""
        assert client.info is not None
        resources = client.info.capabilities.get("resources")
        if not isinstance(resources, dict) or not resources.get("subscribe"):
            return False
        if uri not in self._subscribed:
            self._subscribed.add(uri)
            if client.info.era == "modern":
                self._listen(client)
            else:
                await client.request("resources/subscribe", {"uri": uri}, timeout=30)
        return True

    # Loading --------------------------------------------------------------------------------------

    async def _begin(self, client: Client) -> None:
        await self._load_others(client)
        assert client.info is not None
        if client.info.era == "modern":
            self._listen(client)
            return
        for uri in sorted(self._subscribed):  # of an earlier connection
            try:
                await client.request("resources/subscribe", {"uri": uri}, timeout=30)
            except McpError as error:
                self._host.log(f"resources/subscribe: {error.message}")

    async def _load_tools(self, client: Client) -> None:
        info = client.info
        assert info is not None
        tools: tuple[ToolInfo, ...] = ()
        if "tools" in info.capabilities:
            tools = await client.pages("tools/list", server_messages.tools_of, timeout=LIST_SECONDS)
        checks_headers = self._host.is_remote and info.era == "modern"
        tools = self._usable(tools, checks_headers=checks_headers)
        self.current = replace(
            self.current, era=info.era, instructions=info.instructions, tools=tools
        )
        self.is_known = True

    def _usable(self, tools: tuple[ToolInfo, ...], *, checks_headers: bool) -> tuple[ToolInfo, ...]:
        """The tools without those that hide text, or have invalid header names.

        The protocol requires the latter of modern servers.
        """
        usable = []
        for tool in tools:
            reason = _hiding(tool)
            if not reason and checks_headers:
                reason = client_messages.header_problem(tool.input_schema)
            if reason:
                self._host.log(f"The tool {tool.name} was left out: {reason}.")
            else:
                usable.append(tool)
        return tuple(usable)

    async def _load_others(self, client: Client) -> None:
        """Load prompts and resources, which the first request does not need."""
        assert client.info is not None
        offered = client.info.capabilities
        prompts: tuple[PromptInfo, ...] = ()
        resources: tuple[ResourceInfo, ...] = ()
        if "prompts" in offered:
            prompts = await self._optional(client, "prompts/list", server_messages.prompts_of)
        if "resources" in offered:
            plain_resources = await self._optional(
                client, "resources/list", server_messages.resources_of
            )
            method = "resources/templates/list"
            resources = (
                *plain_resources,
                *await self._optional(client, method, server_messages.templates_of),
            )
        self.current = replace(self.current, prompts=prompts, resources=resources)
        await self._users.listed()

    async def _optional(self, client: Client, method: str, read: Any) -> tuple[Any, ...]:
        try:
            entries: tuple[Any, ...] = await client.pages(method, read, timeout=LIST_SECONDS)
        except McpError as error:
            self._host.log(f"{method}: {error.message}")
            return ()
        return entries

    async def _reload(self) -> None:
        while self._outdated:
            await asyncio.sleep(self._users.debounce())
            kinds, self._outdated = self._outdated, set()
            if (client := self._client) is None:
                return
            try:
                if "tools" in kinds:
                    await self._load_tools(client)
                await self._load_others(client)
            except McpError as error:
                self._host.log(f"The lists could not be loaded again: {error.message}")

    # Notifications over subscriptions/listen ------------------------------------------------------

    def _listen(self, client: Client) -> None:
        if self._listening is not None:
            self._listening.cancel()
        self._listening = self._host.spawn(self._subscribe_to_changes(client), "changes")

    async def _subscribe_to_changes(self, client: Client) -> None:
        assert client.info is not None
        capabilities = client.info.capabilities
        filters: Json = {
            f"{kind}ListChanged": True
            for kind in ("tools", "prompts", "resources")
            if isinstance(capabilities.get(kind), dict) and capabilities[kind].get("listChanged")
        }
        if self._subscribed:
            filters["resourceSubscriptions"] = sorted(self._subscribed)
        failures = 0
        while filters and self._client is client and failures < LISTEN_FAILURES:
            try:
                await client.request("subscriptions/listen", {"notifications": filters})
                return  # the server ended it
            except RpcError as error:
                self._host.log(f"subscriptions/listen: {error.message}")
                return
            except McpError as error:
                failures += 1
                self._host.log(f"subscriptions/listen: {error.message}")
                await asyncio.sleep(failures)


def _hiding(tool: ToolInfo) -> str:
    """Which name or value of a tool hides text; empty if none does."""
    text = server_messages.hidden_text(tool)
    return f"{ascii(text)[:100]} has characters that are not visible" if text else ""


def lists_to_json(lists: Lists) -> Json:
    """List as JSON for the cache, in the format of the protocol."""
    return {
        "era": lists.era,
        "instructions": lists.instructions,
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                "title": tool.title,
            }
            for tool in lists.tools
        ],
        "prompts": [
            {
                "name": prompt.name,
                "description": prompt.description,
                "arguments": [
                    {
                        "name": argument.name,
                        "description": argument.description,
                        "required": argument.required,
                    }
                    for argument in prompt.arguments
                ],
            }
            for prompt in lists.prompts
        ],
        "resources": [
            _resource_json(resource, "uri")
            for resource in lists.resources
            if not resource.is_template
        ],
        "resourceTemplates": [
            _resource_json(resource, "uriTemplate")
            for resource in lists.resources
            if resource.is_template
        ],
    }


def _resource_json(resource: ResourceInfo, key: str) -> Json:
    return {
        key: resource.uri,
        "name": resource.name,
        "description": resource.description,
        "mimeType": resource.mime_type,
    }


def lists_from_json(stored: Json) -> Lists:
    """List from the JSON of the cache."""
    return Lists(
        era="modern" if stored.get("era") == "modern" else "handshake",
        instructions=str(stored.get("instructions") or ""),
        tools=tuple(tool for tool in server_messages.tools_of(stored) if not _hiding(tool)),
        prompts=tuple(server_messages.prompts_of(stored)),
        resources=(*server_messages.resources_of(stored), *server_messages.templates_of(stored)),
    )
