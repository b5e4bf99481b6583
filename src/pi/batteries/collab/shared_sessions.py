"""The sessions of this machine that are shared, for ``pi collab list`` and ``link``."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from pi.extension import CommandContext, ExtensionAPI, Json, PiError, one_line

if TYPE_CHECKING:
    from pi.batteries.collab.host import Host


class SharedSessions:
    """A row for each shared session, in a private file, as it has the links."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def add(self, host: Host) -> None:
        """Note this session and its links."""
        session = self._pi.context.session_manager
        about = {
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
        await store.set(host.link.room, about)

    async def remove(self, host: Host) -> None:
        """Its links are void."""
        await self._pi.store("global").delete(host.link.room)

    def _rows(self) -> list[Json]:
        store = self._pi.store("global")
        found = map(store.get, store.keys())
        return [row for row in found if isinstance(row, dict) and _is_alive(row.get("pid"))]

    def write_list(self, ctx: CommandContext) -> None:
        """``pi collab list``."""
        rows = self._rows()
        if ctx.flags.get("json"):
            for row in rows:
                shown = {name: row.get(name) for name in ("session", "name", "cwd", "pid")}
                ctx.write(json.dumps(shown) + "\n")
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
            about = {"session": row.get("session"), "link": link, "view": view}
            ctx.write((json.dumps(about) if ctx.flags.get("json") else link) + "\n")


def _is_alive(pid: object) -> bool:
    if type(pid) is not int or pid <= 0:
        return False
    if sys.platform == "win32":  # where ``kill`` with 0 ends the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
