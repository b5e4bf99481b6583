"""Override the read tool: refuse files that contain secrets."""

from __future__ import annotations

from typing import Any

from pi.extension import ExtensionAPI, ToolContext, ToolFailed, ToolResult, ToolWrap

SECRET = (".env", "id_rsa", "auth.json")


def extension(pi: ExtensionAPI) -> None:
    """Wrap the read tool; wraps of other extensions stay active."""

    async def careful(params: Any, ctx: ToolContext, inner: Any) -> ToolResult:
        if params.path.endswith(SECRET):
            raise ToolFailed(f"{params.path} holds secrets. Ask the user for what you need.")
        result: ToolResult = await inner(params)
        return result

    wrap: ToolWrap = careful
    pi.wrap_tool("read", wrap)
