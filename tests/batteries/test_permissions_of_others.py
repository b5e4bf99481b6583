"""A guard of permissions beside batteries that ask on their own without one."""

from __future__ import annotations

from pathlib import Path

from pi.ai.providers.faux import calls
from pi.batteries.permissions.adapter import extension as permissions
from pi.coding.port.ui import ExtensionUI
from tests.batteries.github.github_server import (
    asked_for,
    github_server,
    standard_routes,
)
from tests.batteries.github.test_credentials import COMMENTS, VIEW
from tests.batteries.permissions.test_sessions import Asked
from tests.batteries.ssh.sshd import StandIn
from tests.batteries.ssh.test_sessions import box, on

__all__ = ["box"]


async def test_with_a_permission_guard_a_write_is_confirmed_once_and_reads_are_not(
    tmp_path: Path,
) -> None:
    ui = Asked("Allow once")
    settings = {"github": {"enabled": True}, "permissions": {"mode": "ask", "allow": ["gh"]}}
    async with github_server(standard_routes()) as server:
        settings["github"]["apiUrl"] = server.url  # type: ignore[index]
        texts = await asked_for(
            tmp_path, VIEW, COMMENTS, extensions=(permissions,), settings=settings, ui=ui
        )

    assert len(ui.questions) == 1
    assert "issue_comment writes to GitHub in your name." in ui.questions[0]
    assert not [call for call in ui.seen if call[0] == "confirm"]
    assert "Added a comment" in texts[1]


async def test_with_a_permission_guard_and_no_user_a_write_is_refused(tmp_path: Path) -> None:
    settings = {"github": {"enabled": True}, "permissions": {"mode": "ask", "allow": ["gh"]}}
    async with github_server(standard_routes()) as server:
        settings["github"]["apiUrl"] = server.url  # type: ignore[index]
        (text,) = await asked_for(tmp_path, COMMENTS, extensions=(permissions,), settings=settings)

    assert text.startswith("! gh needs the consent of the user, and no user can answer.")
    assert server.asked == []


async def test_a_permission_guard_replaces_the_confirmation(tmp_path: Path, box: StandIn) -> None:
    guarded = {"ssh": {"hosts": ["box"]}, "permissions": {"mode": "ask", "allow": ["ssh"]}}
    allowed, scheme = await on(
        tmp_path,
        box,
        {"command": "echo ran"},
        calls("write", path="ssh://box/~/x", content=""),
        ui=ExtensionUI(),
        settings=guarded | {"permissions": {"mode": "auto-edit", "allow": ["ssh"]}},
        extensions=(permissions,),
    )
    assert allowed == "ran"
    assert "needs the consent of the user" in scheme  # a guard takes it for a file of the project

    ui = Asked("Allow once")
    folder = tmp_path / "second"
    folder.mkdir()
    settings = {"ssh": {"hosts": ["box"]}, "permissions": {"mode": "ask"}}
    (text,) = await on(
        folder, box, {"command": "echo ran"}, ui=ui, settings=settings, extensions=(permissions,)
    )
    assert text == "ran"
    assert len(ui.questions) == 1
    assert "on box: echo ran" in ui.questions[0]
