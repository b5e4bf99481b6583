"""The extension that one of the recordings was made with, as far as the recording shows."""

from __future__ import annotations

import asyncio

from pi.extension import (
    CommandContext,
    ExtensionAPI,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
)


def extension(pi: ExtensionAPI) -> None:  # noqa: C901 - all that a recording shows
    @pi.command("ui", description="exercise ui")
    async def ui(args: str, ctx: CommandContext) -> None:
        ctx.ui.notify("note")
        ctx.ui.notify("warn", "warning")
        ctx.ui.set_status("k", "v")
        ctx.ui.set_status("k", None)
        ctx.ui.set_widget("w", ["l1", "l2"])
        ctx.ui.set_widget("w2", ["b"], placement="belowEditor")
        ctx.ui.set_widget("w", None)
        ctx.ui.set_title("T")
        ctx.ui.set_editor_text("et")
        ctx.ui.paste_to_editor("pt")
        assert await ctx.ui.select("Sel", ["A", "B"]) == "B"
        assert await ctx.ui.confirm("Conf", "msg")
        assert await ctx.ui.input("Inp", "ph") is None
        assert await ctx.ui.editor("Ed", "pre") == "edited"
        assert await ctx.ui.select("SelT", ["A"], timeout=0.3) is None
        assert not await ctx.ui.confirm("ConfT", "m", timeout=0.3)

    @pi.command("ent", description="entries")
    async def ent(args: str, ctx: CommandContext) -> None:
        await pi.append_entry("my-state", {"count": 1})
        await pi.send_message(
            {
                "custom_type": "my-msg",
                "content": "custom hello",
                "display": True,
                "details": {"d": 1},
            }
        )

    @pi.command("entturn", description="msg with turn")
    async def entturn(args: str, ctx: CommandContext) -> None:
        message = {
            "custom_type": "my-msg",
            "content": [Text(text="custom turn")],
            "display": False,
        }
        await pi.send_message(message, trigger_turn=True)

    @pi.command("lbl", description="label leaf")
    async def lbl(args: str, ctx: CommandContext) -> None:
        id, _, label = args.partition(" ")
        await pi.set_label(id, label or None)

    @pi.command("nav", description="navigate")
    async def nav(args: str, ctx: CommandContext) -> None:
        id, summary, *label = args.split(" ")
        await ctx.navigate_tree(id, summarize=summary == "sum", label="".join(label))

    @pi.command("boom", description="throws")
    async def boom(args: str, ctx: CommandContext) -> None:
        raise ValueError("cmd boom")

    @pi.command("usg", description="send user msg")
    async def usg(args: str, ctx: CommandContext) -> None:
        await pi.send_user_message("from ext")

    @pi.command("tools", description="set tools")
    async def tools(args: str, ctx: CommandContext) -> None:
        pi.set_active_tools(args.split(","))

    @pi.command("info", description="info")
    async def info(args: str, ctx: CommandContext) -> None:
        assert (ctx.mode, ctx.has_ui, ctx.is_idle()) == ("rpc", True, True)

    @pi.command("ctxedit", description="x")
    async def ctxedit(args: str, ctx: CommandContext) -> None:
        """Not used in the recording."""

    @pi.command("bye", description="shutdown")
    async def bye(args: str, ctx: CommandContext) -> None:
        ctx.shutdown()

    async def spy(arguments: dict[str, str], ctx: ToolContext) -> ToolResult:
        ctx.update(ToolResult(content=(Text(text="half"),), details={"n": 1}))
        await asyncio.sleep(0)  # the other call shows something, too
        match arguments["q"]:
            case "throw":
                raise ToolFailed("spy failed")
            case "term":
                return ToolResult.of("t", details={}, terminate=True)
            case other:
                return ToolResult.of(f"spy:{other}", details={"got": other})

    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    pi.register_tool(make_tool(name="spy_tool", description="spy", params=schema, run=spy))
