"""Questions about calls of sub-agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Step, calls, says
from pi.batteries.permissions.adapter import extension
from pi.batteries.permissions.questions import DENY
from pi.coding.port.results import SubSession, TaskOptions
from pi.extension import ExtensionAPI
from tests.batteries.permissions.test_sessions import Asked
from tests.coding.extension_host.extension_session import extension_session
from tests.files import put


@pytest.mark.parametrize(
    ("call", "settings"),
    [
        (calls("bash", command="npm test"), {"permissions": {"mode": "ask"}}),
        (calls("bash", command="cat .env"), {"files": {"sensitive": "ask"}}),
    ],
)
@pytest.mark.parametrize(
    ("agent", "line"), [("reviewer", "The agent reviewer asks."), ("", "The agent sub-agent asks.")]
)
async def test_a_question_says_which_agent_asks(
    tmp_path: Path, call: Step, settings: dict[str, Any], agent: str, line: str
) -> None:
    put(tmp_path / "home/project/.env", "KEY=1\n")
    apis: list[ExtensionAPI] = []
    ui = Asked(DENY)
    async with extension_session(
        tmp_path,
        extension,
        apis.append,
        steps=(call, says("done"), call, says("done")),
        settings=settings,
        ui=ui,
        approve=True,
    ) as hosted:
        task = TaskOptions(agent=agent, depth=1)
        await (await apis[0].sub_session(SubSession(prompt="go", task=task))).result()
        await hosted.session.prompt("go")

    of_agent, of_session = ui.questions
    assert line in of_agent.splitlines()
    assert "asks." not in of_session
