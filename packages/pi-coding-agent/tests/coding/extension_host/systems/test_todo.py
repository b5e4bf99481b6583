"""Todo: entries that follow the branch, a widget that follows them, and hidden reminders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.providers.faux import calls, says
from pi.coding.session.entries import CustomMessage
from pi.coding.session.opening import open_session
from pi.extension import Custom, ExtensionAPI, ExtensionContext
from tests.coding.extension_host.extension_session import FakeUI, extension_session


class Lines(FakeUI):
    """Records widgets."""

    def __init__(self) -> None:
        super().__init__()
        self.widget: Any = None

    def set_widget(self, key: str, lines: Any, *, placement: Any = None) -> None:
        self.widget = lines


def todo(pi: ExtensionAPI) -> None:
    def tasks(ctx: ExtensionContext) -> list[str]:
        kept = [
            entry.data
            for entry in ctx.session_manager.get_branch()
            if isinstance(entry, Custom) and entry.custom_type == "todo"
        ]
        return list(kept[-1]) if kept and isinstance(kept[-1], list) else []

    def show(event: Any, ctx: ExtensionContext) -> None:
        ctx.ui.set_widget("todo", tasks(ctx) or None)

    for name in ("session_start", "session_tree", "session_compact"):
        pi.on(name, show)

    @pi.tool
    async def todo(tasks: list[str]) -> str:
        """Keep a list."""
        await pi.append_entry("todo", tasks)
        show(None, pi.context)
        return "kept"

    @pi.on("agent_settled")
    async def remind(event: Any, ctx: ExtensionContext) -> None:
        if tasks(ctx):
            message = {"custom_type": "todo", "content": "There are open tasks.", "display": False}
            await pi.send_message(message, deliver_as="next_turn")


async def test_the_todo_list_follows_the_branch_and_reminds_the_model(
    tmp_path: Path,
) -> None:
    ui = Lines()
    steps = (says("hi"), calls("todo", tasks=["a", "b"]), says("kept"), says("on it"))
    async with extension_session(tmp_path, todo, steps=steps, ui=ui) as hosted:
        await hosted.session.prompt("hello")
        await hosted.session.prompt("plan")
        widgets = [ui.widget]
        await hosted.session.prompt("go on")
        reminders = [m for m in hosted.session.messages if isinstance(m, CustomMessage)]
        first, *_ = hosted.session.info.fork_points()
        await hosted.session.tree.go_to(first.entry_id)
        widgets.append(ui.widget)
        file = hosted.session.session_file

        assert widgets == [["a", "b"], None]
        assert [(m.content, m.display) for m in reminders] == [("There are open tasks.", False)]
        assert "open tasks" in str(hosted.fixture.provider.requests[-1].messages[-1].content)
        assert hosted.failures == []

    again = Lines()
    assert file is not None
    async with extension_session(
        tmp_path, todo, ui=again, open_log=lambda location: open_session(file, location)
    ):
        assert again.widget == ["a", "b"]
