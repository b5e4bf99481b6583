"""A task list for the model, shown at the editor and stored in the session."""

from __future__ import annotations

from typing import Any

from pi.extension import ExtensionAPI, ExtensionContext, SessionCompactingEvent


def extension(pi: ExtensionAPI) -> None:
    """Register a tool, a widget that follows resume and branches, and a note for summaries."""

    def tasks() -> list[str]:
        stored: list[str] = pi.store("session").get("tasks", [])
        return stored

    def show(event: Any, ctx: ExtensionContext) -> None:
        ctx.ui.set_widget("todo", [f"[ ] {task}" for task in tasks()] or None)

    for moved in ("session_start", "session_tree", "session_compact"):
        pi.on(moved, show)

    @pi.tool
    async def todo(tasks: list[str]) -> str:
        """Keep the list of open tasks; it replaces the one before."""
        await pi.store("session").set("tasks", tasks)
        show(None, pi.context)
        return f"{len(tasks)} open tasks"

    @pi.on("session_compacting")
    def remember(event: SessionCompactingEvent, ctx: ExtensionContext) -> dict[str, Any] | None:
        return {"context": [f"Open task: {task}" for task in tasks()]} if tasks() else None
