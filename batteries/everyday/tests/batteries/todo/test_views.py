"""The tool call of the task list in the transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.providers.faux import calls, says
from pi.batteries.todo.adapter import extension
from pi.batteries.todo.state import Phase, Task, to_json
from pi.batteries.todo.views import TodoPanel, panel, todo
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.drawing import PlainTheme
from pi.extension import ToolView, ViewOptions
from tests.modes.interactive.app_fixture import AppFixture

ON = {"todo": {"enabled": True, "reminders": 0}}
TWO_TASKS = {"phase": "Build", "items": ["order the tiles", "raise the roof"]}

LONG = (
    Phase(name="P", tasks=tuple(Task(content=f"p{n}", status="completed") for n in range(6))),
    Phase(name="Q", tasks=tuple(Task(content=f"q{n}") for n in range(6))),
)


def call(**fields: Any) -> ToolView:
    details = {"phases": to_json(LONG)}
    return ToolView(**{"id": "1", "name": "todo", "arguments": {}, "details": details, **fields})


def test_a_collapsed_call_shows_eight_tasks_and_an_expanded_one_all() -> None:
    collapsed = todo(call(state="done"), ViewOptions(), PlainTheme())
    expanded = todo(call(state="done"), ViewOptions(expanded=True), PlainTheme())

    assert collapsed is not None
    assert expanded is not None
    assert collapsed[0] == "6/12"
    assert collapsed[-3:] == ["  ☐ q0", "  ☐ q1", "… 4 more"]
    assert expanded[-1] == "  ☐ q5"


def test_a_running_or_failed_call_has_the_usual_view() -> None:
    assert todo(call(state="running"), ViewOptions(), PlainTheme()) is None
    assert todo(call(state="failed"), ViewOptions(), PlainTheme()) is None
    assert todo(call(state="done", details=None), ViewOptions(), PlainTheme()) is None


def test_the_panel_shows_the_tasks_around_the_current_one() -> None:
    rows = panel(LONG, frozenset(), PlainTheme())

    assert rows[0] == "Todo Q · 6/12"
    assert rows[1:4] == ["  ✔ p4", "  ✔ p5", "  ☐ q0"]
    assert rows[-1] == "  … 4 more; /todo shows all"


def test_the_panel_is_aligned_with_the_text_above_it() -> None:
    rows = TodoPanel(LONG, frozenset(), PlainTheme).render(80)

    assert rows[:2] == [" Todo Q · 6/12", "   ✔ p4"]


async def test_the_command_shows_one_task_per_line(tmp_path: Path) -> None:
    requested = ExtensionOptions(discover=False, inline=(extension,))
    steps = (calls("todo", ops=[{"op": "init", "list": [TWO_TASKS]}]), says("Planned."))
    app = AppFixture(tmp_path, *steps, extensions=requested, settings=ON)
    async with app.running():
        assert app.session is not None
        await app.session.start()
        await app.asks("plan", "Planned.")
        app.send("/todo")
        await app.sees("- [ ] raise the roof")

        rows = [row.strip() for row in app.screen.splitlines()]
        index = rows.index("- [ ] raise the roof")
        assert rows[index - 2 : index] == ["# Build", "- [/] order the tiles"]


def test_control_characters_of_a_task_do_not_reach_the_terminal() -> None:
    phases = (Phase(name="P", tasks=(Task(content="a\x1b[31m\nb"),)),)
    rows = panel(phases, frozenset(), PlainTheme())

    assert all("\x1b" not in row and "\n" not in row for row in rows)
