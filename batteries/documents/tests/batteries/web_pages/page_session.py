"""Sessions whose model reads addresses, and a loopback site with any answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.web_pages.adapter import SETTINGS, GitHubHosts, WebPages
from pi.extension import ExtensionAPI
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


@asynccontextmanager
async def reading(
    tmp_path: Path,
    *reads: Mapping[str, Any],
    allow: tuple[str, ...] = (),
    hosts: GitHubHosts | None = None,
    **options: Any,
) -> AsyncIterator[ExtensionFixture]:
    """A session whose model makes these calls of ``read``."""
    web = {"pages": True, "allowHosts": list(allow)} | options.pop("web", {})

    def extension(pi: ExtensionAPI) -> None:
        pi.settings.declare_all(SETTINGS)
        pages = WebPages(pi, hosts)
        pi.add_path_form(pages.parse, pages)

    steps = (*(calls("read", **read) for read in reads), says("done"))
    async with extension_session(
        tmp_path, extension, steps=steps, settings={"web": web}, **options
    ) as hosted:
        yield hosted


async def read_texts(
    tmp_path: Path, *reads: Mapping[str, Any] | str, allow: tuple[str, ...] = (), **options: Any
) -> list[str]:
    """The results as texts: errors start with ``! ``, pictures are shown as their type."""
    calls_of_read = [{"path": read} if isinstance(read, str) else read for read in reads]
    async with reading(tmp_path, *calls_of_read, allow=allow, **options) as hosted:
        await hosted.session.prompt("go")
        assert hosted.failures == []
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [("! " if m.is_error else "") + _text(m) for m in results]


def _text(message: ToolResultMessage) -> str:
    parts = [part.text if isinstance(part, Text) else part.mime_type for part in message.content]
    return "\n".join(parts)
