"""A session in plan mode, with a user who answers as the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import Step
from pi.batteries.plan.adapter import extension
from pi.coding.port.ui import ExtensionUI, Mode
from pi.extension.guards import SandboxSupport
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

ON: dict[str, Any] = {"plan": {"enabled": True}}


class Decider(ExtensionUI):
    """Answers dialogs in order; ``None`` cancels one."""

    has_ui = True

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.status: dict[str, str | None] = {}
        self.notices: list[str] = []

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        self.asked.append(title)
        return self.answers.pop(0)

    async def editor(self, title: str, prefill: str = "", **more: Any) -> Any:
        self.asked.append(title)
        return self.answers.pop(0)

    def set_status(self, key: str, text: str | None) -> None:
        self.status[key] = text

    def notify(self, message: str, kind: Any = None) -> None:
        self.notices.append(message)


@asynccontextmanager
async def planning(
    tmp_path: Path,
    *steps: Step,
    ui: ExtensionUI | None = None,
    mode: Mode = "tui",
    settings: dict[str, Any] = ON,
    more: tuple[Any, ...] = (),
    flags: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[ExtensionFixture]:
    """A started session with the battery; plan mode is on if ``flags`` say so."""
    given = {"flags": {"plan-mode": True} if flags is None else flags}
    async with extension_session(
        tmp_path,
        extension,
        *more,
        steps=steps,
        settings=settings,
        extension_options=given,
        **options,
    ) as hosted:
        hosted.session.extensions.attach(ui or Decider(), mode)
        yield hosted


def results(hosted: ExtensionFixture) -> list[str]:
    """The texts of all tool results, in order."""
    found = [each for each in hosted.session.messages if isinstance(each, ToolResultMessage)]
    return ["".join(getattr(part, "text", "") for part in each.content) for each in found]


def without_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behave as on a machine that has no sandbox."""

    async def find(environ: Any) -> SandboxSupport:
        return SandboxSupport(reason="none in this test")

    monkeypatch.setattr("pi.batteries.plan.guard.find_sandbox", find)
