"""``/plan``: read-only tools until the user types ``/go``."""

from __future__ import annotations

from pi.extension import (
    CommandContext,
    ExtensionAPI,
    FileChange,
    FileWrite,
    FileWritten,
    Registration,
    ToolFailed,
)

LOOKING = ["read", "grep", "find", "ls"]


def extension(pi: ExtensionAPI) -> None:
    """Register ``/plan``, which limits tools and blocks writes, and ``/go``, which undoes both."""
    guards: list[Registration] = []
    before: list[str] = []

    async def guard(change: FileChange, write: FileWrite) -> FileWritten:
        raise ToolFailed("The plan is not approved yet. Describe it; nothing is written.")

    @pi.command("plan")
    async def plan(args: str, ctx: CommandContext) -> None:
        """Only look, and make a plan."""
        if not guards:
            before[:] = pi.get_active_tools()
            guards.append(pi.wrap_files(guard, at="first"))
            guards.append(pi.add_section("plan", "Only look, and describe what you would do."))
            pi.set_active_tools(LOOKING)
        ctx.ui.set_status("plan", "planning")

    @pi.command("go")
    async def go(args: str, ctx: CommandContext) -> None:
        """Approve the plan."""
        while guards:
            guards.pop().remove()
        pi.set_active_tools(before)
        ctx.ui.set_status("plan", None)
        await pi.send_user_message("The plan is approved: carry it out.")
