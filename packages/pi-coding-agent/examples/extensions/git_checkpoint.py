"""Save the work tree with ``git stash create`` before every prompt; ``/checkpoints`` lists them."""

from __future__ import annotations

from pi.extension import (
    BeforeAgentStartEvent,
    CommandContext,
    Custom,
    ExtensionAPI,
    ExtensionContext,
)


def extension(pi: ExtensionAPI) -> None:
    """Make checkpoints, and store them in the session."""

    @pi.on("before_agent_start")
    async def keep(event: BeforeAgentStartEvent, ctx: ExtensionContext) -> None:
        result = await pi.exec(["git", "stash", "create", event.prompt[:60]], timeout=10)
        commit = result.stdout.strip()
        if result.code == 0 and commit:
            await pi.append_entry("checkpoint", {"commit": commit, "prompt": event.prompt})

    @pi.command("checkpoints")
    async def checkpoints(args: str, ctx: CommandContext) -> None:
        """List the commits that git stash apply can restore."""
        lines = [
            f"{entry.data['commit'][:10]} {entry.data['prompt']}"
            for entry in ctx.session_manager.get_branch()
            if isinstance(entry, Custom) and entry.custom_type == "checkpoint" and entry.data
        ]
        ctx.ui.notify("\n".join(lines) or "No checkpoints yet.")
