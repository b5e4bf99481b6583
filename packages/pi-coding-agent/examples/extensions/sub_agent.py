"""A tool that starts a nested session with read-only tools."""

from __future__ import annotations

from pi.extension import ExtensionAPI, SubSession, Text, ToolContext, ToolFailed, ToolResult

SYSTEM = "You find things in a project. Look, then answer in a few lines, with file names."


def extension(pi: ExtensionAPI) -> None:
    """Register ``explore``; guards of this session apply to the nested one, too."""

    @pi.tool
    async def explore(question: str, ctx: ToolContext) -> ToolResult:
        """Ask an assistant that reads the project; it has three minutes."""
        spec = SubSession(
            prompt=question, tools=("read", "grep", "find", "ls"), system=SYSTEM, seconds=180
        )
        ctx.update(ToolResult.of("looking around ..."))
        answer = await (await pi.sub_session(spec)).result()
        if answer is None or answer.stop_reason in ("error", "aborted"):
            raise ToolFailed("The assistant returned no answer.")
        text = "".join(part.text for part in answer.content if isinstance(part, Text))
        return ToolResult(content=(Text(text=text),), usage=answer.usage)
