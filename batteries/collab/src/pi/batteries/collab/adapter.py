"""Connects sharing to a session: commands, settings, and changes of the session."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi.batteries.collab.local_sessions import SharedSessions, show_page, web_command
from pi.extension import (
    Cancel,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    InputAnswer,
    InputEvent,
    PiError,
    SessionBeforeSwitchEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    UiPromptEndEvent,
    UiPromptStartEvent,
    install_hint,
    one_line,
)

if TYPE_CHECKING:
    from pi.batteries.collab.guest import Guest
    from pi.batteries.collab.guest_services import GuestServices
    from pi.batteries.collab.host import Host
    from pi.batteries.collab.links import Link
    from pi.batteries.collab.sharing import Sharing

KEY = "collab"
LINGER_SECONDS = 30.0
"""How long the shared object outlives a session: between two sessions, none uses it."""
STOP, FOLLOW, STAY = "Stop sharing", "Share the other session, too", "Stay in this session"
USAGE = "Use /collab start, view, status, stop, list, relay, or the address of a relay."
LOCAL_ONLY = (
    "Only this machine can reach the link: no relay is configured. To share with others, run"
    " `pi relay serve` on a server and set collab.relayUrl (docs/how-to/share-a-session.md)."
)
VIEW_ONLY = "This link is view-only: you read the session, and only others can prompt it."
EQUAL = "All holders of the full link can steer this session; pi does not tell them apart."

SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("collab.relayUrl", str, "", "address of the relay; empty starts one on this machine"),
    ("collab.displayName", str, "", "your name for other participants; empty is the user name"),
    ("collab.webUrl", str, "", "address of the browser client; empty is the relay"),
    ("collab.autoStart", str, "off", "share every session: off, view or control"),
)


def extension(pi: ExtensionAPI, key: str = KEY) -> None:
    """Register commands and handlers; ``key`` names the object that sessions share."""
    pi.settings.declare_all(SETTINGS)
    collab = Collab(pi, key)
    pi.register_command("collab", collab.command, description="share this session")
    pi.register_command("join", collab.join, description="join a shared session")
    pi.register_command("leave", collab.leave, description="leave a shared session")
    pi.register_command("web", collab.web, description="show this session in the browser")
    pi.on("session_start", collab.session_start)
    pi.on("session_before_switch", collab.before_switch)
    pi.on("session_shutdown", collab.session_shutdown)
    pi.on("input", collab.input)
    pi.on("ui_prompt_start", collab.dialog_opened)
    pi.on("ui_prompt_end", collab.dialog_closed)


class Collab:
    """Sharing in one session."""

    def __init__(self, pi: ExtensionAPI, key: str) -> None:
        self._pi = pi
        self._key = key
        self._found: Sharing | None = None
        self._shared = SharedSessions(pi)

    async def sharing(self) -> Sharing:
        """The object that sessions of this process share. Raises ``PiError`` without the extra."""
        if self._found is None:
            try:
                from pi.batteries.collab.sharing import Sharing  # deferred: needs extra ``share``
            except ModuleNotFoundError as error:
                raise PiError(
                    f"Sharing needs {error.name}, which is not installed.",
                    hint=install_hint("share"),
                ) from error

            async def make(scope: Any) -> Sharing:
                return Sharing(scope)

            self._found = await self._pi.shared(self._key, make, linger=LINGER_SECONDS)
        return self._found

    def _name(self, otherwise: str) -> str:
        """The name of this user for other participants."""
        environ = self._pi.context.environ
        users = (environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME"))
        return self._pi.settings.get("collab.displayName") or next(filter(None, users), otherwise)

    # Sessions -------------------------------------------------------------------------------------

    async def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Continue the sharing of the former session, or share as the settings configure."""
        if ctx.depth or ctx.mode not in ("tui", "rpc"):
            return
        self._pi.settings.on_change(self.settings_changed)
        automatic = self._pi.settings.get("collab.autoStart")
        try:
            sharing = await self.sharing()
        except PiError as error:
            if automatic in ("view", "control"):
                self._pi.warn(error.explain())
            return
        if sharing.farewell:
            ctx.ui.notify(sharing.farewell, "warning")
            sharing.farewell = ""
        if sharing.is_guest or sharing.opening:
            await self._continue_as_guest(sharing, event)
        elif sharing.host is not None and sharing.is_hosting:
            await self._continue_as_host(sharing, sharing.host, event)
        elif sharing.opens_page:
            await show_page(self, ctx)
        elif automatic in ("view", "control"):
            try:
                await self._start(sharing, "", view=automatic == "view")
                sharing.automatic = automatic
            except PiError as error:
                self._pi.warn(f"Sharing was not started. {error.explain()}")

    def settings_changed(self) -> None:
        """Show the other link if ``collab.autoStart`` changes between view and control."""
        automatic, sharing = self._pi.settings.get("collab.autoStart"), self._found
        if sharing is None or not sharing.is_hosting or automatic not in ("view", "control"):
            return
        if sharing.automatic not in ("", automatic):
            sharing.automatic = automatic
            showing = self._start(sharing, "", view=automatic == "view")
            self._pi.scope.spawn(showing, name="show link")

    async def _continue_as_host(
        self, sharing: Sharing, host: Host, event: SessionStartEvent
    ) -> None:
        is_off = self._pi.settings.get("collab.autoStart") == "off"
        if sharing.automatic and is_off:
            await self._stop(sharing, "stopped")
        elif host.follow or event.reason == "reload":
            self._attach(host)
            await self._shared.add(host)
        else:
            await self._stop(sharing, "session")

    async def _continue_as_guest(self, sharing: Sharing, event: SessionStartEvent) -> None:
        guest = sharing.guest
        if guest is not None and (sharing.opening or event.reason == "reload" or guest.opening):
            guest.attach(self._pi)
            guest.on_ended = self._guest_ended
            if sharing.opening and not guest.link.keys.can_write:
                self._pi.context.ui.notify(VIEW_ONLY, "info")
        else:  # the user has opened another session
            await sharing.leave()

    async def before_switch(
        self, event: SessionBeforeSwitchEvent, ctx: ExtensionContext
    ) -> Cancel | None:
        """Ask the user whether to stop sharing, to share the next session, or not to switch."""
        sharing = self._found
        host = None if sharing is None else sharing.host
        if host is None or host.ended:
            return None
        guests = len(host.room.participants) - 1
        noun = "guest" if guests == 1 else "guests"
        choice = await ctx.ui.select(
            f"This session is shared with {guests} {noun}.", [STOP, FOLLOW, STAY]
        )
        if choice == STAY or (choice is None and ctx.has_ui):
            return Cancel(cancel=True)
        host.follow = choice == FOLLOW
        return None

    async def session_shutdown(self, event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        """Stop sharing when pi exits."""
        if event.reason == "quit" and self._found is not None:
            if self._found.host is not None:
                await self._shared.remove(self._found.host)
            await self._found.close()

    def input(self, event: InputEvent, ctx: ExtensionContext) -> InputAnswer | None:
        """Refuse prompts while joining: they are meant for the host and must not run here."""
        if self._found is None or not self._found.joining:
            return None
        ctx.ui.notify("Still joining: your text is back in the editor.", "warning")
        ctx.ui.set_editor_text(event.text)
        return InputAnswer(action="handled")

    def dialog_opened(self, event: UiPromptStartEvent, ctx: ExtensionContext) -> None:
        """Show a dialog of the host to guests, if they may answer it."""
        if self._services is not None:
            self._services.dialog_opened(event)

    def dialog_closed(self, event: UiPromptEndEvent, ctx: ExtensionContext) -> None:
        """Close a dialog for guests, too."""
        if self._services is not None:
            self._services.dialog_closed(event)

    @property
    def _services(self) -> GuestServices | None:
        host = None if self._found is None else self._found.host
        return None if host is None else host.services

    # /collab --------------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """``/collab [start|view|status|stop|list|relay|link]`` and ``pi collab list|link``."""
        tokens = _words(arguments)
        action, rest = (tokens[0], tokens[1:]) if tokens else ("start", [])
        if action == "list":
            self._shared.write_list(ctx)
        elif action == "link":
            self._shared.write_links(ctx, view="--view" in rest)
        elif action == "relay":
            self._relay(rest, ctx)
        else:
            await self._share(action, rest, ctx)

    async def _share(self, action: str, rest: list[str], ctx: CommandContext) -> None:
        if ctx.mode not in ("tui", "rpc"):
            raise PiError("Sharing needs a session that stays open.", hint="Run pi, then /collab.")
        sharing = await self.sharing()
        guest = sharing.guest if sharing.is_guest else None
        if guest is not None and action == "status":
            self._guest_status(guest, ctx)
        elif guest is not None:
            raise PiError("This is the session of another user.", hint="Use /leave first.")
        elif action == "stop":
            if not sharing.is_hosting:
                raise PiError("This session is not shared.", hint="Use /collab to share it.")
            await self._stop(sharing, "stopped")
            ctx.ui.notify("Sharing has stopped; the links are void.", "info")
        elif action == "status":
            self._status(sharing, ctx)
        elif action in ("start", "view"):
            await self._start(sharing, rest[0] if rest else "", view=action == "view")
        elif "." in action or ":" in action or action == "localhost":
            await self._start(sharing, action)
        else:
            raise PiError(f"Unknown action {one_line(action)}.", hint=USAGE)

    async def _start(self, sharing: Sharing, relay: str, *, view: bool = False) -> None:
        relay = relay or self._pi.settings.get("collab.relayUrl")
        was_shared = sharing.is_hosting
        host = await self.start_host(sharing, relay)
        link = self._link(host, view=view)
        copied = await self._pi.context.ui.copy(self._page(link))
        self._pi.context.ui.write(
            self._links_text(host, link, is_new=not was_shared, copied=copied)
        )

    async def start_host(self, sharing: Sharing, relay: str) -> Host:
        """Share this session, unless it is shared; without ``relay``, with this machine only."""
        host, is_new = await sharing.start(relay, self._name("host"))
        if is_new:
            self._attach(host)
            await self._shared.add(host)
        return host

    @property
    def web_url(self) -> str:
        """The address of the browser client; empty if it is the relay."""
        url: str = self._pi.settings.get("collab.webUrl")
        return url

    async def web(self, arguments: str, ctx: CommandContext) -> None:
        """``/web [ID]``."""
        await web_command(self, arguments, ctx)

    def _attach(self, host: Host) -> None:
        host.on_ended = self._host_ended
        host.attach(self._pi)

    def _host_ended(self, reason: str) -> None:
        self._pi.context.ui.set_status("collab", None)
        if reason:
            self._pi.context.ui.notify(f"Sharing has ended. {reason}", "error")
        if self._found is not None and self._found.host is not None:
            self._pi.scope.spawn(self._shared.remove(self._found.host), name="forget")

    async def _stop(self, sharing: Sharing, reason: str) -> None:
        if sharing.host is not None:
            await self._shared.remove(sharing.host)
        await sharing.stop(reason)
        sharing.automatic = ""
        self._pi.context.ui.set_status("collab", None)

    @staticmethod
    def _link(host: Host, *, view: bool) -> Link:
        return host.link.view_only() if view else host.link

    def _page(self, link: Link) -> str:
        return link.page(self._pi.settings.get("collab.webUrl"))

    def _links_text(self, host: Host, link: Link, *, is_new: bool, copied: bool) -> str:
        from pi.batteries.collab.qr import encode_qr, half_blocks

        page = self._page(link)
        methods = "in a browser, with /join, or with `pi join LINK`"
        # The link has a row of its own: only then can it be copied as a whole.
        lines = [
            "This session is shared." if is_new else "This session is already shared.",
            f"The link{' (copied to the clipboard)' if copied else ''}, to open {methods}:",
            page,
            EQUAL if link.keys.can_write else "The link is view-only.",
        ]
        if host.local:
            lines.append(LOCAL_ONLY)
        elif host.link.relay.startswith("wss:"):  # a phone cannot reach this machine's loopback
            lines += ["", *half_blocks(encode_qr(page.encode()))]
        return "\n".join(lines)

    def _status(self, sharing: Sharing, ctx: CommandContext) -> None:
        host = sharing.host
        if host is None or host.ended:
            ctx.ui.write("This session is not shared. Use /collab to share it.")
            return
        from pi.batteries.collab.host_room import role_text

        state = "connected" if host.client.is_open else "reconnecting"
        lines = [
            f"Relay: {host.link.relay} ({state})",
            "Full link:",
            host.link.text(),
            "View-only link:",
            host.link.view_only().text(),
            "Participants:",
            role_text(host.room.participants),
        ]
        if host.room.rejected:
            lines.append(f"Frames that were refused: {host.room.rejected}")
        ctx.ui.write("\n".join(lines))

    def _guest_status(self, guest: Guest, ctx: CommandContext) -> None:
        """The link that this guest joined with, and the participants that the host reported."""
        from pi.batteries.collab.host_room import ROLES

        state = "connected" if guest.client.is_open else "reconnecting"
        link = "Full link" if guest.link.keys.can_write else "View-only link"
        participants = [
            f"  {participant['name']} ({ROLES.get(str(participant.get('role')), 'unknown')})"
            for participant in guest.participants
        ]
        lines = [f"Relay: {guest.link.relay} ({state})", f"{link}:", guest.link.text()]
        ctx.ui.write("\n".join([*lines, "Participants:", *participants]))

    def _relay(self, rest: list[str], ctx: CommandContext) -> None:
        if not rest:
            configured = self._pi.settings.get("collab.relayUrl")
            ctx.write(f"Relay: {configured or 'none; /collab starts one on this machine'}\n")
            return
        from pi.batteries.collab.links import relay_address

        self._pi.settings.set("collab.relayUrl", relay_address(rest[0]))
        ctx.write(f"Relay: {relay_address(rest[0])}\n")

    # /join and /leave -----------------------------------------------------------------------------

    async def join(self, arguments: str, ctx: CommandContext) -> None:
        """``/join LINK``."""
        if ctx.mode not in ("tui", "rpc"):
            raise PiError("Joining needs a terminal.", hint="Run `pi join LINK` in one.")
        if not arguments.strip():
            raise PiError("/join needs a link.", hint="The host gets one from /collab.")
        sharing = await self.sharing()
        from pi.batteries.collab.links import parse_link

        link = parse_link(arguments, self._pi.settings.get("collab.relayUrl"))
        if sharing.is_hosting:
            raise PiError("This session is shared.", hint="Use /collab stop first.")
        if sharing.joining:
            raise PiError("Already joining.", hint="Wait a moment.")
        previous = sharing.guest.previous if sharing.guest else None
        if not sharing.is_guest:
            previous = ctx.session_manager.get_session_file()
        sharing.joining = True
        try:
            ctx.ui.set_status("collab", "joining…")
            guest = await sharing.join(link, self._name("guest"))
            guest.previous = previous
            guest.on_ended = self._guest_ended
            await guest.first_snapshot()
            sharing.opening = True
            opened = await guest.open(ctx, self._pi.data_directory())
        except BaseException:
            await sharing.leave()
            if not self._pi.scope.closed:
                ctx.ui.set_status("collab", None)
            raise
        finally:
            sharing.joining = sharing.opening = False
        if not opened:
            await sharing.leave()

    def _guest_ended(self, reason: str) -> None:
        """Go back to the former session, because the host has stopped."""
        pi = self._pi
        if pi.scope.closed:
            return
        pi.context.ui.set_status("collab", None)
        if reason:
            pi.context.ui.notify(one_line(reason), "warning")
            if self._found is not None and pi.context.mode == "tui":
                # The screen of the next session replaces the one with this notice.
                self._found.farewell = one_line(reason)
            pi.when_idle(self._go_back)

    async def leave(self, arguments: str, ctx: CommandContext) -> None:
        """``/leave``: go back to the former session, or stop sharing."""
        sharing = await self.sharing()
        if sharing.is_hosting:
            await self._stop(sharing, "stopped")
            ctx.ui.notify("Sharing has stopped; the links are void.", "info")
        elif sharing.guest is not None:
            await self._go_back(ctx)
        else:
            raise PiError("You are not in a shared session.", hint="Use /join LINK.")

    async def _go_back(self, control: Any) -> None:
        sharing = await self.sharing()
        guest = sharing.guest
        previous = None if guest is None else guest.previous
        await sharing.leave()
        if previous is not None and Path(previous).exists():
            await control.switch_session(previous)
        else:
            await control.new_session()


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
