"""The task list in real sessions, with a script in place of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.ai.messages import Text, ToolResultMessage, UserMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.todo.adapter import extension
from pi.coding.extension_host.control import SessionControl
from pi.coding.port.drawing import PlainTheme
from pi.coding.runtime.options import ToolFilter
from pi.coding.session.entries import CustomMessage
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)

ON = {"todo": {"enabled": True, "reminders": 0}}
INIT = {"op": "init", "list": [{"phase": "Build", "items": ["a", "b"]}]}


class ScreenUI(FakeUI):
    """A user with a screen: records the panel, and edits texts with ``edits``."""

    def __init__(self, *edits: str) -> None:
        super().__init__()
        self.panel: list[str] | None = None
        self.edits = [*edits]
        self.prefilled: list[str] = []

    def set_widget(self, key: str, lines: Any, *, placement: Any = None) -> None:
        """Keeps the rows."""
        assert key == "todo"
        drawn = lines(None, PlainTheme()).render(80) if callable(lines) else lines
        self.panel = None if drawn is None else [*drawn]

    async def editor(self, title: str, prefill: str = "", **how: Any) -> str | None:
        """The next edit."""
        self.prefilled.append(prefill)
        return self.edits.pop(0) if self.edits else None


def todo(*ops: dict[str, Any]) -> Any:
    return calls("todo", ops=[*ops])


def results(hosted: ExtensionFixture) -> list[ToolResultMessage]:
    return [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]


def customs(hosted: ExtensionFixture, kind: str) -> list[str]:
    messages = [m for m in hosted.session.messages if isinstance(m, CustomMessage)]
    return [str(m.content) for m in messages if m.custom_type == kind]


def details(message: ToolResultMessage) -> dict[str, Any]:
    assert isinstance(message.details, dict)
    return message.details


def text(message: ToolResultMessage) -> str:
    return "".join(part.text for part in message.content if isinstance(part, Text))


async def test_off_by_default_and_on_by_setting_or_by_name(tmp_path: Path) -> None:
    async with extension_session(tmp_path / "a", extension) as hosted:
        assert "todo" not in hosted.session.tools.active_names
    async with extension_session(tmp_path / "b", extension, settings=ON) as hosted:
        assert "todo" in hosted.session.tools.active_names
    async with extension_session(
        tmp_path / "c", extension, tools=ToolFilter(only=("read", "todo"))
    ) as hosted:
        assert hosted.session.tools.active_names == ("read", "todo")


async def test_the_panel_follows_the_tool_and_a_failed_batch_leaves_the_list_unchanged(
    tmp_path: Path,
) -> None:
    ui = ScreenUI()
    steps = (
        todo(INIT),
        todo({"op": "done", "task": "a"}, {"op": "start", "task": "nothing"}),
        todo({"op": "done", "task": "a"}),
        says("done"),
    )
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("go")

        made, failed, done = results(hosted)
        assert details(made)["phases"] == details(failed)["phases"]
        assert failed.is_error
        assert text(failed).startswith('Errors: Task "nothing" not found')
        assert details(done)["completedTasks"] == [{"phase": "Build", "content": "a"}]
        assert ui.panel == ["Todo Build · 1/2", "  ✔ a", "  ▶ b"]
        assert ("notify", "Todo update failed; the list may be out of date.") in ui.seen
        assert hosted.failures == []


async def test_closed_tasks_are_removed_from_the_panel_after_the_delay(tmp_path: Path) -> None:
    ui = ScreenUI()
    settings = {"todo": ON["todo"], "tasks": {"todoClearDelay": 0}}
    steps = (todo(INIT, {"op": "done", "task": "a"}), todo({"op": "done"}), says("done"))
    async with extension_session(
        tmp_path, extension, steps=steps, settings=settings, ui=ui
    ) as hosted:
        await hosted.session.prompt("go")

        assert ui.panel is None
        # Only the display is cleared.
        assert [t["status"] for t in details(results(hosted)[-1])["phases"][0]["tasks"]] == [
            "completed",
            "completed",
        ]


async def test_the_list_is_restored_from_the_branch(tmp_path: Path) -> None:
    steps = (todo(INIT), says("one"), todo({"op": "done", "task": "a"}), says("two"))
    ui = ScreenUI()
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("first")
        leaf = hosted.session.entries.log.leaf_id
        assert leaf is not None
        await hosted.session.prompt("second")
        assert ui.panel == ["Todo Build · 1/2", "  ✔ a", "  ▶ b"]

        await SessionControl(hosted.session).navigate_tree(leaf)

        assert ui.panel == ["Todo Build · 0/2", "  ▶ a", "  ☐ b"]


async def test_a_new_session_does_not_inherit_the_list(tmp_path: Path) -> None:
    ui = ScreenUI()
    steps = (todo(INIT), says("one"), todo({"op": "view"}), says("two"))
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("first")
        await hosted.session.new_session()
        await hosted.session.prompt("second")

        assert ui.panel is None
        assert text(results(hosted)[-1]) == "Todo list is empty."


async def test_a_failed_update_is_reported_with_the_next_prompt_and_not_as_the_user(
    tmp_path: Path,
) -> None:
    steps = (todo({"op": "start", "task": "a"}), says("one"), says("two"), says("three"))
    async with extension_session(tmp_path, extension, steps=steps, settings=ON) as hosted:
        await hosted.session.prompt("first")
        await hosted.session.prompt("second")
        await hosted.session.prompt("third")

        (reminder,) = customs(hosted, "todo-error-reminder")
        assert "not a message of the user" in reminder
        assert "changed nothing" in reminder


async def test_an_answer_with_open_tasks_is_followed_by_one_reminder_with_the_next_prompt(
    tmp_path: Path,
) -> None:
    settings = {"todo": {"enabled": True}}
    steps = (todo(INIT), says("I stop here"), says("next"), says("again"))
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        await hosted.session.prompt("first")
        assert customs(hosted, "todo-reminder") == []

        await hosted.session.prompt("second")
        (reminder,) = customs(hosted, "todo-reminder")
        assert "not a message of the user" in reminder
        assert "- a [in_progress]\n- b [pending]" in reminder
        (event,) = [e for e in hosted.emitted("ExtensionEvent") if e.name == "todo_reminder"]
        assert (event.data["attempt"], event.data["maxAttempts"]) == (1, 1)
        assert [todo["content"] for todo in event.data["todos"]] == ["a", "b"]

        await hosted.session.prompt("third")  # the list is the same: no second reminder
        assert len(customs(hosted, "todo-reminder")) == 1


async def test_a_run_without_an_answer_is_continued_once(tmp_path: Path) -> None:
    settings = {"todo": {"enabled": True}}
    steps = (todo(INIT), says(""), says(""), says("next"))
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        await hosted.session.prompt("first")

        (reminder,) = customs(hosted, "todo-reminder")
        assert reminder.count("open tasks") == 1
        assert len([m for m in hosted.session.messages if isinstance(m, UserMessage)]) == 1


async def test_a_finished_list_causes_no_reminder(tmp_path: Path) -> None:
    settings = {"todo": {"enabled": True}}
    steps = (todo(INIT, {"op": "done"}), says("done"))
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        await hosted.session.prompt("first")

        assert customs(hosted, "todo-reminder") == []


async def test_the_user_edits_the_list_and_the_model_is_informed(tmp_path: Path) -> None:
    ui = ScreenUI("# Mine\n- [x] old\n- [ ] new\n")
    async with extension_session(
        tmp_path, extension, steps=(todo({"op": "view"}), says("x")), ui=ui
    ) as hosted:
        await hosted.session.prompt("/todo edit")

        assert ui.panel == ["Todo Mine · 1/2", "  ✔ old", "  ▶ new"]
        assert "todo" in hosted.session.tools.active_names  # the user asked for it
        (note,) = customs(hosted, "todo-user-edit")
        assert "not a message of the user" in note
        assert "- [/] new" in note
        stored = [msgspec.json.decode(entry) for entry in hosted.session.info.entries()]
        (entry,) = [e for e in stored if e.get("customType") == "user_todo_edit"]
        assert entry["data"]["phases"][0]["name"] == "Mine"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/todo done alp", "# P\n- [x] alpha\n- [/] beta"),
        ("/todo start beta", "# P\n- [ ] alpha\n- [/] beta"),
        ("/todo drop P", "# P\n- [-] alpha\n- [-] beta"),
        ("/todo rm beta", "# P\n- [/] alpha"),
        ("/todo append Q: gamma", "# P\n- [/] alpha\n- [ ] beta\n\n# Q\n- [ ] gamma"),
        ("/todo done zzz", "# P\n- [/] alpha\n- [ ] beta"),
        ("/todo start", "# P\n- [/] alpha\n- [ ] beta"),
    ],
)
async def test_subcommands_change_the_list(tmp_path: Path, command: str, expected: str) -> None:
    ui = ScreenUI("# P\n- [ ] alpha\n- [ ] beta\n")
    async with extension_session(tmp_path, extension, ui=ui) as hosted:
        await hosted.session.prompt("/todo edit")
        await hosted.session.prompt(command)
        await hosted.session.prompt("/todo")

        assert ui.seen[-1] == ("notify", expected)
        assert hosted.failures == []


async def test_a_list_is_exported_to_a_file_and_imported(tmp_path: Path) -> None:
    ui = ScreenUI("# P\n- [ ] alpha\n")
    async with extension_session(tmp_path, extension, ui=ui) as hosted:
        await hosted.session.prompt("/todo edit")
        await hosted.session.prompt("/todo export list.md")
        await hosted.session.prompt("/todo clear")
        assert ("notify", "Exported the todo list to list.md.") in ui.seen
        await hosted.session.prompt("/todo import list.md")

        assert ui.panel == ["Todo P · 0/1", "  ▶ alpha"]
        await hosted.session.prompt("/todo import missing.md")
        assert ui.seen[-1][1].startswith("Cannot import a todo list: ")


async def test_an_invalid_edit_is_rejected_with_the_line_number(tmp_path: Path) -> None:
    ui = ScreenUI("# P\n- [ ] alpha\n", "# P\nnonsense\n")
    async with extension_session(tmp_path, extension, ui=ui) as hosted:
        await hosted.session.prompt("/todo edit")
        await hosted.session.prompt("/todo edit")

        assert ui.prefilled[1] == "# P\n- [/] alpha\n"
        assert ui.seen[-1][1].startswith("The todo list is unchanged. Line 2: expected")
        assert ui.panel == ["Todo P · 0/1", "  ▶ alpha"]
