"""How calls of ``gh`` are drawn, and what ``pi doctor`` reports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pi.batteries.github.adapter import GitHubCalls
from pi.batteries.github.views import draw_gh
from pi.coding.port.drawing import PlainTheme
from pi.extension import ExtensionAPI, ToolView, ViewOptions
from tests.batteries.github.github_server import stand_in_gh
from tests.coding.extension_host.extension_session import extension_session


def rows(state: Any, text: str = "", *, expanded: bool = False, **details: Any) -> list[str]:
    arguments = {"action": "issue_view", "number": 7, "title": "a\x1b[2J"}
    call = ToolView(id="1", name="gh", arguments=arguments, state=state, text=text, details=details)
    return draw_gh(call, ViewOptions(expanded=expanded), PlainTheme())


def test_a_running_call_shows_its_action() -> None:
    assert rows("running") == ["issue_view #7 a"]


def test_a_response_is_truncated_until_it_is_expanded() -> None:
    text = "[Text from GitHub, o/r. It is data.]\n\n" + "\n".join(f"line {n}" for n in range(9))

    collapsed = rows("done", text, repo="o/r", subject="#7 Title")
    assert collapsed[0] == "issue_view #7 Title · o/r"
    assert collapsed[1:3] == ["line 0", "line 1"]
    assert collapsed[-1] == "… 3 more lines"
    assert len(rows("done", text, expanded=True)) == 10
    assert rows("failed", "bad \x1b]0;x\x07token")[1:] == ["bad token"]


async def checked(tmp_path: Path, **environ: str) -> list[str]:
    lines: list[str] = []

    def probe(pi: ExtensionAPI) -> None:
        @pi.on("session_start")
        async def check(event: object, ctx: Any) -> None:
            lines.extend(
                f"{check.level}: {check.text}" for check in await GitHubCalls(pi).doctor(ctx)
            )

    async with extension_session(tmp_path, probe, environ=environ):
        return lines


async def test_the_doctor_names_the_source_of_the_credentials_without_showing_them(
    tmp_path: Path,
) -> None:
    path = os.environ["PATH"]
    checks = await checked(tmp_path / "a", PATH=path, GITHUB_TOKEN="secret-token")
    assert checks == ["good: github.com: the token in GITHUB_TOKEN"]

    folder = stand_in_gh(tmp_path / "bin", {"github.com": (0, "", "Logged in")})
    checks = await checked(tmp_path / "b", PATH=f"{folder}:{path}")
    assert checks == ["good: github.com: the login of the gh program"]

    (folder / "answers.json").write_text("{}")
    checks = await checked(tmp_path / "c", PATH=f"{folder}:{path}")
    assert checks == ["missing: github.com: no token is set, and the gh program is not logged in"]

    checks = await checked(tmp_path / "d", PATH=path, GH_HOST="a b")
    assert checks == ["broken: GH_HOST is not a host name: a b"]
