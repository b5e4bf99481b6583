"""Sealed shares: selects and encrypts the content of a session, for ``/share`` and ``/unshare``.

The format is described in docs/reference/collab-protocol.md, section "Sealed shares".
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pi.extension import (
    CommandContext,
    ExtensionAPI,
    HttpError,
    Json,
    PiError,
    Record,
    Shared,
    install_hint,
    one_line,
)

MAX_SEALED: Final = 1_048_576
_VERSION = b"\x01"
_ASSOCIATED = b"pi-share-1"
_OVERHEAD = 1 + 12 + 16
_LONG_STRINGS: Final = (50_000, 10_000, 2_000)
_KEPT_KEYS: Final = frozenset({"id", "parentId", "type", "role", "toolCallId"})
"""Fields that link entries to each other; never shortened."""


class TooLarge(PiError):
    """The session exceeds the limit even without everything that can be left out."""


class Content(Record):
    """The content of a share, and how much was left out."""

    data: bytes
    """JSON lines, compressed."""
    entries: int
    images: int = 0
    """Number of included pictures."""
    dropped_images: int = 0
    shortened: int = 0
    """Length to which longer texts were shortened; 0 if none were."""
    dropped_entries: int = 0


def branch(entries: Sequence[Json], leaf_id: str | None) -> list[Json]:
    """The entries from the root to the leaf: other branches are not shared."""
    by_id = {entry.get("id"): entry for entry in entries}
    path: list[Json] = []
    current = leaf_id
    while current in by_id:
        entry = by_id.pop(current)  # removed, so that a cycle ends
        path.append(entry)
        current = entry.get("parentId")
    return path[::-1]


def fit(header: Json, entries: Sequence[Json], limit: int = MAX_SEALED) -> Content:
    """Compress a session; if needed, drop pictures, shorten texts, then drop the oldest entries.

    Raises ``TooLarge``.
    """
    all_images = _count_images(entries)
    data = _packed(header, entries)
    if _fits(data, limit):
        return Content(data=data, entries=len(entries), images=all_images)
    reduced: list[Any] = [_without_images(entry) for entry in entries]
    data, shortened = _packed(header, reduced), 0
    for length in _LONG_STRINGS:
        if _fits(data, limit):
            break
        shortened = length
        reduced = [_shortened(entry, length) for entry in reduced]
        data = _packed(header, reduced)
    if _fits(data, limit):
        return Content(
            data=data, entries=len(reduced), dropped_images=all_images, shortened=shortened
        )
    low, high = 1, len(reduced)  # the least number of old entries to drop
    while low < high:
        middle = (low + high) // 2
        if _fits(_packed(header, _newest(reduced, middle)), limit):
            high = middle
        else:
            low = middle + 1
    data = _packed(header, _newest(reduced, low))
    if low >= len(reduced) or not _fits(data, limit):
        raise TooLarge("The session is too large to share.", hint="Use /export and share the file.")
    return Content(
        data=data,
        entries=len(reduced) - low,
        dropped_images=all_images,
        shortened=shortened,
        dropped_entries=low,
    )


def seal(data: bytes, random: Callable[[int], bytes] = os.urandom) -> tuple[bytes, str]:
    """Encrypt with a new key; returns the blob and the key as text for the link."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # deferred: extra ``share``

    key, iv = random(32), random(12)
    sealed = _VERSION + iv + AESGCM(key).encrypt(iv, data, _ASSOCIATED)
    return sealed, base64.urlsafe_b64encode(key).decode().rstrip("=")


def _fits(data: bytes, limit: int) -> bool:
    return len(data) + _OVERHEAD <= limit


def _packed(header: Json, entries: Iterable[Json]) -> bytes:
    rows = [header, *entries]
    lines = "\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return gzip.compress(lines.encode("utf-8", "surrogatepass"), compresslevel=6, mtime=0)


def _newest(entries: Sequence[Json], dropped: int) -> list[Json]:
    newest = list(entries[dropped:])
    if newest:
        newest[0] = {**newest[0], "parentId": None}
    return newest


def _is_image(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "image" and "data" in value


def _count_images(value: Any) -> int:
    if _is_image(value):
        return 1
    if isinstance(value, dict):
        return sum(map(_count_images, value.values()))
    return sum(map(_count_images, value)) if isinstance(value, list | tuple) else 0


def _without_images(value: Any) -> Any:
    if _is_image(value):
        return {"type": "text", "text": "[a picture was left out of this share]"}
    if isinstance(value, dict):
        return {name: _without_images(child) for name, child in value.items()}
    return [*map(_without_images, value)] if isinstance(value, list | tuple) else value


def _shortened(value: Any, length: int, key: str = "") -> Any:
    if isinstance(value, str):
        if len(value) <= length or key in _KEPT_KEYS:
            return value
        half = length // 2
        omitted = len(value) - 2 * half
        notice = f"[{omitted:,} characters were left out of this share]"
        return f"{value[:half]}\n{notice}\n{value[-half:]}"
    if isinstance(value, dict):
        return {name: _shortened(child, length, name) for name, child in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(child, length) for child in value]
    return value


DAY_SECONDS = 86_400
_WORD = re.compile(r"[A-Za-z0-9_-]{1,100}")
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_ANSWER = 65_536
_OMITTED_KEYS = ("parentSession",)
"""Fields of the header that name files of this machine."""

SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("share.serverUrl", str, "", "where encrypted pages are stored: https://RELAY/s"),
    ("share.redactSecrets", bool, True, "redact secrets in encrypted pages"),
    ("share.expireDays", int, 30, "days until an encrypted page is removed"),
)


def extension(pi: ExtensionAPI) -> None:
    """Register settings, the target and the command."""
    pi.settings.declare_all(SETTINGS)
    sealed = SealedShare(pi)
    pi.add_share_target("blob", sealed.share, description="an encrypted page of a relay")
    pi.register_command("unshare", sealed.unshare, description="remove an encrypted page")


class SealedShare:
    """Uploads and removes encrypted pages of the user's sessions."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    # /share ---------------------------------------------------------------------------------------

    async def share(self, file: Path) -> Shared:
        """Encrypt the session and upload it, after the user has agreed. Raises ``PiError``."""
        pi = self._pi
        base = server_address(self._setting("share.serverUrl"))
        redacts = bool(self._setting("share.redactSecrets"))
        days = min(90, max(1, self._setting("share.expireDays")))
        content, secrets = await self._content(redacts=redacts)
        question = summary(content, base, days=days, redacts=redacts, secrets=secrets)
        if not await pi.context.ui.confirm("Share this session?", question, default=False):
            return Shared(message="The session was not shared.")
        try:
            blob, key = seal(content.data)
        except ModuleNotFoundError as error:
            raise PiError(
                f"Encrypted shares need {error.name}, which is not installed.",
                hint=install_hint("share"),
            ) from error
        stored = await self._upload(base, blob, days)
        url = f"{base}/{stored['id']}#{key}"
        record: Json = {
            "base": base,
            "revoke": stored["revoke"],
            "expires": stored.get("expires"),
            "name": pi.get_session_name() or "",
            "session": pi.context.session_manager.get_session_id(),
        }
        await pi.store("global").set(str(stored["id"]), record)
        return Shared(
            url=url,
            message=f"Session shared for {days} days. Remove it with /unshare {stored['id']}",
        )

    async def _content(self, *, redacts: bool) -> tuple[Content, int]:
        """The content of the share, and the number of entries with secrets.

        With ``redacts``, the compressed text is checked once more.
        """
        pi = self._pi
        feed = pi.feed(size=1)
        snapshot = (await anext(feed)).data
        feed.close()
        header = {k: v for k, v in snapshot["header"].items() if k not in _OMITTED_KEYS}
        entries = branch(snapshot["entries"], snapshot["leafId"])
        if not entries:
            raise PiError("There is nothing to share yet.", hint="Send a prompt first.")
        header["leafId"] = entries[-1]["id"]
        redacted = []
        for entry in entries:
            redacted.append(pi.redact(entry, "share"))
            if len(redacted) % 100 == 0:
                await asyncio.sleep(0)
        secrets = sum(a != b for a, b in zip(entries, redacted, strict=True))
        if redacts:
            header, entries = pi.redact(header, "share"), redacted
        content = await asyncio.to_thread(fit, header, entries)
        if redacts:
            await self._scan(content)
        return content, secrets

    async def _scan(self, content: Content) -> None:
        """Raise ``PiError`` if redacted entries still contain a secret.

        A secret may match only in the text of a whole entry, not in its single fields.
        """
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
        tokens = [stored.get(name) for name in ("id", "revoke")] if isinstance(stored, dict) else []
        if not tokens or not all(
            isinstance(token, str) and _WORD.fullmatch(token) for token in tokens
        ):
            raise PiError(f"{base} is not a share server of pi.", hint="Check share.serverUrl.")
        receipt: Json = stored
        return receipt

    def _setting(self, name: str) -> Any:
        # Not from the project's settings: they could send sessions to a server of the project.
        return self._pi.settings.get(name, with_project=False)

    # /unshare -------------------------------------------------------------------------------------

    async def unshare(self, arguments: str, ctx: CommandContext) -> None:
        """``/unshare`` lists the shares, ``/unshare ID`` removes one. Raises ``PiError``."""
        store = self._pi.store("global")
        link = arguments.strip().partition("#")[0]  # an id, or a link without its key
        if not link:
            ctx.ui.write(self._list())
            return
        ids = store.keys()
        matches = [id for id in ids if id == link or link.endswith(f"/{id}")]
        record = store.get(matches[0]) if matches else None
        if not isinstance(record, dict):
            raise PiError(f"Unknown share {one_line(link)[:80]}.", hint="See /unshare.")
        url = f"{record['base']}/{matches[0]}"
        headers = {"Authorization": f"Bearer {record['revoke']}"}
        try:
            answer = await self._pi.http.request(
                url, method="DELETE", headers=headers, limit=MAX_ANSWER
            )
        except HttpError as error:
            raise PiError(f"{url} cannot be reached: {error}", hint="Try again later.") from error
        if answer.status not in (204, 404):  # 404: it has expired
            raise PiError(f"{url} was not removed ({answer.status}).", hint="Try again later.")
        await store.delete(matches[0])
        ctx.ui.notify("The share is removed; its link is void.", "info")

    def _list(self) -> str:
        store = self._pi.store("global")
        ids = store.keys()
        rows = [(id, record) for id in ids if isinstance(record := store.get(id), dict)]
        if not rows:
            return "You have no encrypted shares."
        return "\n".join(
            f"{id}  {one_line(str(record.get('name') or record.get('session')))}"
            for id, record in rows
        )


def server_address(text: Any) -> str:
    """The URL of the share server. Raises ``PiError`` if it is missing or invalid."""
    address = str(text or "").strip().rstrip("/")
    if not address:
        raise PiError(
            "No share server is configured.",
            hint="Set share.serverUrl to https://RELAY/s of a relay (`pi relay serve`).",
        )
    parts = urlsplit(address if "://" in address else f"https://{address}")
    is_local = parts.hostname in LOCAL_HOSTS
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise PiError(f"Invalid share.serverUrl: {one_line(address)}", hint="Use https://RELAY/s.")
    if parts.scheme == "http" and not is_local:
        raise PiError(
            "share.serverUrl needs https.", hint="Plain http is allowed for localhost only."
        )
    return parts.geturl()


def summary(content: Content, base: str, *, days: int, redacts: bool, secrets: int) -> str:
    """The text of the confirmation: content, server, lifetime, secrets and omissions."""
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
        return {name: _without_pictures(child) for name, child in value.items()}
    return [*map(_without_pictures, value)] if isinstance(value, list | tuple) else value
