"""Preview a change that the model then applies or discards; ask before calls that run programs."""

from __future__ import annotations

from typing import Literal

from pi.extension import (
    Block,
    ExtensionAPI,
    ExtensionContext,
    PendingAction,
    ToolCallEvent,
    ToolResult,
)


def extension(pi: ExtensionAPI) -> None:
    """Register a tool that previews, a tool that decides, and a guard for all tools."""
    pi.pending_actions.add_resolver()

    @pi.tool(
        deferrable=True,
        approval="write",
        format_approval_details=lambda arguments: f"{arguments['old']} → {arguments['new']}",
    )
    async def preview_copy(old: str, new: str) -> str:
        """Preview a copy of a file."""

        async def apply(reason: str) -> ToolResult:
            text = (await pi.context.files.read_file(old)).decode()
            # Guards apply as to a call of the model: other extensions may refuse it.
            return await pi.call_tool("write", {"path": new, "content": text})

        action = PendingAction(label=f"{old} → {new}", apply=apply)
        pi.push_pending_action(action)
        return f"Ready: {action.label}. Call decide."

    @pi.tool(approval="read")
    async def decide(action: Literal["apply", "discard"], reason: str) -> ToolResult:
        """Apply or discard what was previewed last."""
        return await pi.pending_actions.resolve(action, reason)

    @pi.on("tool_call")
    async def ask(event: ToolCallEvent, ctx: ExtensionContext) -> Block | None:
        """Ask before a call of any tool that may run programs."""
        if event.approval.tier != "exec" or not ctx.has_ui:
            return None
        if await ctx.ui.confirm(f"Run {event.tool_name}?", "\n".join(event.approval.details)):
            return None
        return Block(reason="The user refused it.")
