"""Ask before the agent deletes anything."""

from __future__ import annotations

from pi.extension import Block, ExtensionAPI, ExtensionContext, ToolCallEvent


def extension(pi: ExtensionAPI) -> None:
    """Guard the bash tool."""

    @pi.on("tool_call")
    async def confirm(event: ToolCallEvent, ctx: ExtensionContext) -> Block | None:
        command = str(event.input.get("command", ""))
        if "rm " in command and not await ctx.ui.confirm("Delete?", command):
            return Block(reason="The user does not want this command to run.")
        return None
