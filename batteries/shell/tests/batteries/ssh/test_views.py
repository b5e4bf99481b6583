"""How calls of ``ssh`` are drawn."""

from __future__ import annotations

from typing import Any

from pi.batteries.ssh.views import draw_ssh
from pi.coding.port.drawing import PlainTheme
from pi.extension import ToolView, ViewOptions


def rows(state: Any, text: str = "", *, expanded: bool = False, **fields: Any) -> list[str]:
    arguments = {"host": "box", **fields}
    call = ToolView(id="1", name="ssh", arguments=arguments, state=state, text=text)
    return draw_ssh(call, ViewOptions(expanded=expanded), PlainTheme())


def test_a_call_shows_host_and_command() -> None:
    assert rows("running", command="ls\x1b[2J -l") == ["box ls -l"]
    assert rows("running", action="write", remotePath="/a\nb") == ["box write /a b"]


def test_the_end_of_the_output_is_shown_until_it_is_expanded() -> None:
    text = "\n".join(f"line {n}" for n in range(8))

    assert rows("done", text, command="x")[1:] == [
        "… 3 earlier lines",
        *(f"line {n}" for n in range(3, 8)),
    ]
    assert len(rows("failed", text, expanded=True, command="x")) == 9
