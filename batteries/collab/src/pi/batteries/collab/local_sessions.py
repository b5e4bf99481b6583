"""Sessions of this machine: the list of shared ones (``pi collab list``), and ``/web``."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    Json,
    PiError,
    is_running,
    one_line,
)

if TYPE_CHECKING:
    from pi.batteries.collab.host import Host
    from pi.batteries.collab.sharing import Sharing


class SharedSessions:
    """The list of shared sessions, in a private file because it contains the links."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def add(self, host: Host) -> None:
        """Add this session and its links; removes rows of processes that have ended."""
        session = self._pi.context.session_manager
        own_row = {
            "pid": os.getpid(),
            "session": session.get_session_id(),
            "name": session.get_session_name() or "",
            "cwd": str(self._pi.context.cwd),
            "link": host.link.text(),
            "view": host.link.view_only().text(),
        }
        store = self._pi.store("global")
        for key in store.keys():  # noqa: SIM118 (a store is no mapping)
            row = store.get(key)
            if isinstance(row, dict) and not _is_alive(row.get("pid")):
                await store.delete(key)  # its process was killed; links do not stay on the disk
        await store.set(host.link.room, own_row)

    async def remove(self, host: Host) -> None:
        """Remove a session whose links are no longer valid."""
        await self._pi.store("global").delete(host.link.room)

    def _rows(self) -> list[Json]:
        store = self._pi.store("global")
        records = map(store.get, store.keys())
        return [row for row in records if isinstance(row, dict) and _is_alive(row.get("pid"))]

    def write_list(self, ctx: CommandContext) -> None:
        """``pi collab list``."""
        rows = self._rows()
        if ctx.flags.get("json"):
            for row in rows:
                fields = {name: row.get(name) for name in ("session", "name", "cwd", "pid")}
                ctx.write(json.dumps(fields) + "\n")
            return
        lines = [
            f"{row.get('session')}  {one_line(str(row.get('name') or row.get('cwd')))}"
            for row in rows
        ]
        ctx.write("\n".join(lines or ["No session of this machine is shared."]) + "\n")

    def write_links(self, ctx: CommandContext, *, view: bool) -> None:
        """``pi collab link [--view]``."""
        view = view or bool(ctx.flags.get("view"))
        rows = self._rows()
        if not rows:
            raise PiError("No session of this machine is shared.", hint="Use /collab in pi.")
        for row in rows:
            link = str(row.get("view" if view else "link"))
            details = {"session": row.get("session"), "link": link, "view": view}
            ctx.write((json.dumps(details) if ctx.flags.get("json") else link) + "\n")


def _is_alive(pid: object) -> bool:
    return type(pid) is int and pid > 0 and is_running(pid)


class SharedSession(Protocol):
    """The part of ``Collab`` that the commands of this module use."""

    async def sharing(self) -> Sharing:
        """The object that sessions of this process share."""
        ...

    async def start_host(self, sharing: Sharing, relay: str) -> Host:
        """Share the session; without ``relay``, with this machine only."""
        ...

    @property
    def web_url(self) -> str:
        """The address of the browser client; empty if it is the relay."""
        ...


_ID = re.compile(r"[0-9A-Za-z-]{4,64}")


async def web_command(collab: SharedSession, arguments: str, ctx: CommandContext) -> None:
    """``/web [ID]``: show this session, or another one, in the browser."""
    if ctx.mode not in ("tui", "rpc"):
        raise PiError("/web needs a session that stays open.", hint="Run `pi web` in a terminal.")
    sharing = await collab.sharing()
    if sharing.is_guest:
        raise PiError("This is the session of another user.", hint="Use /leave first.")
    if not (session_id := arguments.strip()):
        await show_page(collab, ctx)
        return
    file = find_session(ctx, session_id)
    if file == _own_file(ctx):
        await show_page(collab, ctx)
        return
    # The command ends with its session: the next one opens the page when it starts.
    sharing.opens_page = True
    try:
        done = await ctx.switch_session(file)
    except BaseException:
        sharing.opens_page = False
        raise
    if done.cancelled:
        sharing.opens_page = False


async def show_page(collab: SharedSession, ctx: ExtensionContext) -> None:
    """Share the session with this machine only, and open its page.

    The link is the access token: its secret is in the fragment, and the relay listens on
    loopback. A session that is shared already keeps its relay.
    """
    sharing = await collab.sharing()
    sharing.opens_page = False
    host = await collab.start_host(sharing, "")
    page = host.link.page(collab.web_url if not host.local else "")
    ctx.ui.write(f"This session in the browser: {page}\n/collab stop ends it.")
    ctx.ui.open_url(page)


def _own_file(ctx: CommandContext) -> Path | None:
    own = ctx.session_manager.get_session_file()
    return None if own is None else Path(own)


def find_session(ctx: ExtensionContext, session_id: str) -> Path:
    """The file of a session of this folder, by the beginning of its id. Raises ``PiError``."""
    label = one_line(session_id)[:80]
    folder = ctx.session_manager.get_session_dir()
    if not _ID.fullmatch(session_id) or folder is None:
        raise PiError(f"{label} is not the id of a session.", hint="See `pi sessions`.")
    matches = sorted(Path(folder).glob(f"*_{session_id}*.jsonl"))
    if not matches:
        raise PiError(f"There is no session {label} in this folder.", hint="See `pi sessions`.")
    if len(matches) > 1:
        raise PiError(f"{len(matches)} sessions begin with {label}.", hint="Use a longer id.")
    return matches[0]
