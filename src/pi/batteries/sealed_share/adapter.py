"""Connects sealed shares to a session: the target of ``/share``, and ``/unshare``."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pi.batteries.sealed_share.blob import Content, branch, fit, seal
from pi.extension import CommandContext, ExtensionAPI, HttpError, Json, PiError, Shared, one_line

DAY_SECONDS = 86_400
_WORD = re.compile(r"[A-Za-z0-9_-]{1,100}")
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_ANSWER = 65_536
_LEFT_OUT_KEYS = ("parentSession",)
"""Fields of the header that name files of this machine."""

SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("share.serverUrl", str, "", "where encrypted pages are stored: https://RELAY/s"),
    ("share.redactSecrets", bool, True, "redact secrets in encrypted pages"),
    ("share.expireDays", int, 30, "days until an encrypted page is removed"),
)


def extension(pi: ExtensionAPI) -> None:
    """Register settings, the target and the command."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    sealed = SealedShare(pi)
    pi.add_share_target("blob", sealed.share, description="an encrypted page of a relay")
    pi.register_command("unshare", sealed.unshare, description="remove an encrypted page")


class SealedShare:
    """Encrypted pages of the user's sessions."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    # /share ---------------------------------------------------------------------------------------

    async def share(self, file: Path) -> Shared:
        """Seal the session and upload it, after the user has agreed to what is in it."""
        pi = self._pi
        base = server_address(self._setting("share.serverUrl"))
        redacts = bool(self._setting("share.redactSecrets"))
        days = min(90, max(1, self._setting("share.expireDays")))
        content, secrets = await self._content(redacts=redacts)
        question = summary(content, base, days=days, redacts=redacts, secrets=secrets)
        if not await pi.context.ui.confirm("Share this session?", question):
            return Shared(message="The session was not shared.")
        try:
            blob, key = seal(content.data)
        except ModuleNotFoundError as error:
            raise PiError(
                f"Encrypted shares need {error.name}, which is not installed.",
                hint="Run `pip install 'pi-harness[share]'`.",
            ) from error
        stored = await self._upload(base, blob, days)
        url = f"{base}/{stored['id']}#{key}"
        about: Json = {
            "base": base,
            "revoke": stored["revoke"],
            "expires": stored.get("expires"),
            "name": pi.get_session_name() or "",
            "session": pi.context.session_manager.get_session_id(),
        }
        await pi.store("global").set(str(stored["id"]), about)
        return Shared(
            url=url,
            message=f"Session shared for {days} days. Remove it with /unshare {stored['id']}",
        )

    async def _content(self, *, redacts: bool) -> tuple[Content, int]:
        """What is shared, and the number of entries with secrets. The last look is at the text."""
        pi = self._pi
        feed = pi.feed(size=1)
        taken = (await anext(feed)).data
        feed.close()
        header = {k: v for k, v in taken["header"].items() if k not in _LEFT_OUT_KEYS}
        entries = branch(taken["entries"], taken["leafId"])
        if not entries:
            raise PiError("There is nothing to share yet.", hint="Send a prompt first.")
        header["leafId"] = entries[-1]["id"]
        shown = []
        for entry in entries:
            shown.append(pi.redact(entry, "share"))
            if len(shown) % 100 == 0:
                await asyncio.sleep(0)
        secrets = sum(a != b for a, b in zip(entries, shown, strict=True))
        if redacts:
            header, entries = pi.redact(header, "share"), shown
        content = await asyncio.to_thread(fit, header, entries)
        if redacts:
            await self._scan(content)
        return content, secrets

    async def _scan(self, content: Content) -> None:
        """Look once more at what is uploaded: a secret may only show in the whole text."""
        for number, line in enumerate(gzip.decompress(content.data).split(b"\n")):
            entry = json.loads(line)
            text = json.dumps(_without_pictures(entry), ensure_ascii=False)
            if self._pi.redact(text, "share") != text:
                raise PiError(
                    "A secret is left in the text after redaction; nothing was uploaded.",
                    hint=f"It is in entry {one_line(str(entry.get('id')))}.",
                )
            if number % 100 == 0:
                await asyncio.sleep(0)

    async def _upload(self, base: str, blob: bytes, days: int) -> Json:
        headers = {
            "Content-Type": "application/octet-stream",
            "Pi-Expires": str(days * DAY_SECONDS),
        }
        try:
            answer = await self._pi.http.request(
                base, method="POST", headers=headers, body=blob, limit=MAX_ANSWER
            )
        except HttpError as error:
            raise PiError(
                f"{base} cannot be reached: {error}", hint="Check share.serverUrl."
            ) from error
        if answer.status != 201:
            raise PiError(
                f"{base} refused the share ({answer.status}): {one_line(answer.text)[:200]}",
                hint="Check share.serverUrl: it ends with /s at a relay of pi.",
            )
        stored = answer.json()
        words = [stored.get(name) for name in ("id", "revoke")] if isinstance(stored, dict) else []
        if not words or not all(isinstance(each, str) and _WORD.fullmatch(each) for each in words):
            raise PiError(f"{base} is not a share server of pi.", hint="Check share.serverUrl.")
        found: Json = stored
        return found

    def _setting(self, name: str) -> Any:
        # Never of the project: it could send the user's sessions to its own server.
        return self._pi.settings.get(name, with_project=False)

    # /unshare -------------------------------------------------------------------------------------

    async def unshare(self, arguments: str, ctx: CommandContext) -> None:
        """``/unshare``: list; ``/unshare ID``: remove."""
        store = self._pi.store("global")
        given = arguments.strip().partition("#")[0]  # a whole link, too
        if not given:
            ctx.ui.write(self._list())
            return
        ids = store.keys()
        known = [id for id in ids if id == given or given.endswith(f"/{id}")]
        about = store.get(known[0]) if known else None
        if not isinstance(about, dict):
            raise PiError(f"Unknown share {one_line(given)[:80]}.", hint="See /unshare.")
        url = f"{about['base']}/{known[0]}"
        headers = {"Authorization": f"Bearer {about['revoke']}"}
        try:
            answer = await self._pi.http.request(
                url, method="DELETE", headers=headers, limit=MAX_ANSWER
            )
        except HttpError as error:
            raise PiError(f"{url} cannot be reached: {error}", hint="Try again later.") from error
        if answer.status not in (204, 404):  # 404: it has expired
            raise PiError(f"{url} was not removed ({answer.status}).", hint="Try again later.")
        await store.delete(known[0])
        ctx.ui.notify("The share is removed; its link is void.", "info")

    def _list(self) -> str:
        store = self._pi.store("global")
        ids = store.keys()
        rows = [(id, about) for id in ids if isinstance(about := store.get(id), dict)]
        if not rows:
            return "You have no encrypted shares."
        return "\n".join(
            f"{id}  {one_line(str(about.get('name') or about.get('session')))}"
            for id, about in rows
        )


def server_address(text: Any) -> str:
    """The address that shares are sent to; raises ``PiError``."""
    given = str(text or "").strip().rstrip("/")
    if not given:
        raise PiError(
            "No share server is configured.",
            hint="Set share.serverUrl to https://RELAY/s of a relay (`pi relay serve`).",
        )
    parts = urlsplit(given if "://" in given else f"https://{given}")
    is_local = parts.hostname in LOCAL_HOSTS
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise PiError(f"Invalid share.serverUrl: {one_line(given)}", hint="Use https://RELAY/s.")
    if parts.scheme == "http" and not is_local:
        raise PiError(
            "share.serverUrl needs https.", hint="Plain http is allowed for localhost only."
        )
    return parts.geturl()


def summary(content: Content, base: str, *, days: int, redacts: bool, secrets: int) -> str:
    """What the user agrees to."""
    size = max(1, round(len(content.data) / 1024))
    lines = [
        f"{content.entries} entries and {content.images} pictures of this branch, {size} KB,"
        f" encrypted, to {urlsplit(base).netloc} for {days} days. Everyone who has the link can"
        " read them: prompts, answers, files that were read, output of commands.",
    ]
    if redacts and secrets:
        noun = "entry" if secrets == 1 else "entries"
        lines.append(f"Secrets were redacted in {secrets} {noun}.")
    elif not redacts:
        lines.append(
            "Secrets are NOT redacted (share.redactSecrets is off):"
            f" {secrets} entries contain some."
        )
    if content.dropped_images:
        lines.append(f"{content.dropped_images} pictures are left out, as the limit is 1 MB.")
    if content.shortened:
        lines.append(f"Texts above {content.shortened:,} characters are shortened.")
    if content.dropped_entries:
        lines.append(f"The oldest {content.dropped_entries} entries are left out.")
    return "\n".join(lines)


def _without_pictures(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get("type") == "image":
            return {"type": "image"}
        return {name: _without_pictures(each) for name, each in value.items()}
    return [*map(_without_pictures, value)] if isinstance(value, list | tuple) else value
