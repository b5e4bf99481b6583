"""The files of the broker: its accounts, and a journal of the refreshes in progress."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import msgspec

from pi.base.locks import FileLock
from pi.batteries.auth_broker.protocol import (
    StoredAccount,
    StoredAccounts,
    label_of,
)
from pi.extension import Json, PiError, Record, replace, replace_file

LOCK_SECONDS = 10.0
ANSWER_ROOM = 16 * 1024
"""Bytes reserved on disk for the answer of a provider before the refresh token is sent."""


class BrokerStore:
    """The accounts in one private file, which other ``pi auth-broker`` commands change as well.

    Every change is on the disk before the call returns.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "accounts.json"
        self._lock = folder / "accounts.lock"
        self._seen: tuple[int, int, int] | None = None
        self._read = StoredAccounts()

    def read(self) -> StoredAccounts:
        """Return the current content; parses the file only if it has changed."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return StoredAccounts()
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        if stamp != self._seen:
            if sys.platform != "win32" and status.st_mode & 0o077:
                raise PiError(
                    f"Other users can read {self.path}.", hint=f"Run: chmod 600 {self.path}"
                )
            try:
                self._read = msgspec.json.decode(self.path.read_bytes(), type=StoredAccounts)
            except msgspec.MsgspecError as error:
                raise PiError(
                    f"{self.path} cannot be used: {error}.",
                    hint="Repair it by hand; the broker does not change it.",
                ) from error
            self._seen = stamp
        return self._read

    async def change(self, edit: Callable[[StoredAccounts], StoredAccounts]) -> StoredAccounts:
        """Replace the content by the result of ``edit``; no other process writes meanwhile."""
        async with FileLock(self._lock, wait=LOCK_SECONDS):
            # No await below, so that a cancellation never leaves half a change.
            old = self.read()
            new = edit(old)
            if new == old:
                return old
            new = replace(new, generation=old.generation + 1)
            data = msgspec.json.format(msgspec.json.encode(new), indent=2)
            replace_file(self.path, data)
            self._seen = None
            return new

    async def change_account(
        self, id: str, edit: Callable[[StoredAccount], StoredAccount]
    ) -> StoredAccount | None:
        """Change one account by its id; returns ``None`` if it does not exist any more."""

        def all_accounts(old: StoredAccounts) -> StoredAccounts:
            rows = tuple(edit(account) if account.id == id else account for account in old.accounts)
            return replace(old, accounts=rows)

        return (await self.change(all_accounts)).account(id)

    async def put(self, provider: str, entry: Json, label: str = "") -> StoredAccount:
        """Add a credential, or replace the one with the same provider and label."""
        label = label or label_of(entry)
        chosen = ""

        def edit(old: StoredAccounts) -> StoredAccounts:
            nonlocal chosen
            same = next(
                (r for r in old.accounts if (r.provider, r.label) == (provider, label)), None
            )
            if same is None:
                chosen = f"a{secrets.token_hex(6)}"
                row = StoredAccount(id=chosen, provider=provider, label=label, credential=entry)
                return replace(old, accounts=(*old.accounts, row))
            chosen = same.id
            row = replace(same, credential=entry, version=same.version + 1, disabled="", blocks=())
            rows = tuple(row if account.id == chosen else account for account in old.accounts)
            return replace(old, accounts=rows)

        account = (await self.change(edit)).account(chosen)
        assert account is not None
        return account

    async def remove(self, id: str) -> bool:
        """Remove an account; returns False if there is none."""
        before = self.read().account(id)
        await self.change(
            lambda old: replace(old, accounts=tuple(a for a in old.accounts if a.id != id))
        )
        return before is not None


class RefreshRecord(Record):
    """A refresh token that was sent to its provider."""

    id: str
    version: int
    """Version of the account when its token was sent."""
    answer: Json | None = None
    """The new credential; ``None`` if no answer was recorded."""


class RefreshJournal:
    """Journal of refreshes: one private file per account, written before the request.

    A provider that rotates refresh tokens replaces the old one when it answers. If the broker is
    killed before the new one is stored, the file shows that the old one may be used up, or has the
    new one. Only the broker that serves the store writes these files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: dict[str, RefreshRecord] = {}
        for path in folder.glob("refresh-*.json"):
            with suppress(OSError, msgspec.MsgspecError):  # torn by a power loss: nothing sent
                record = _read_record(path.read_bytes())
                self._records[record.id] = record

    def find(self, account: StoredAccount) -> RefreshRecord | None:
        """Return the unfinished refresh of this version of an account; ``None`` without one."""
        record = self._records.get(account.id)
        return record if record is not None and record.version == account.version else None

    def begin(self, account: StoredAccount) -> None:
        """Record, before this returns, that the token is about to be sent."""
        record = RefreshRecord(id=account.id, version=account.version)
        # Space for the answer is reserved: a disk that fills up meanwhile must not lose it.
        replace_file(self._path(account.id), _head(record) + b" " * ANSWER_ROOM + b"\n")
        self._records[account.id] = record

    def answered(self, account: StoredAccount, credential: Json) -> None:
        """Record the answer. Raises ``OSError`` if it is recorded in memory only."""
        record = self._records[account.id]
        self._records[account.id] = replace(record, answer=credential)
        with self._path(account.id).open("r+b", buffering=0) as file:
            file.seek(len(_head(record)))
            file.write(msgspec.json.encode(credential))
            os.fsync(file.fileno())

    def end(self, id: str) -> None:
        """Remove the record of a refresh whose result was stored, or that was refused."""
        self._records.pop(id, None)
        with suppress(OSError):  # a file that remains has an old version and is ignored
            self._path(id).unlink()

    def keep_only(self, ids: Collection[str]) -> None:
        """Remove the records of accounts that were removed."""
        for id in set(self._records).difference(ids):
            self.end(id)

    def _path(self, id: str) -> Path:
        return self._folder / f"refresh-{id}.json"


def _head(record: RefreshRecord) -> bytes:
    return msgspec.json.encode({"id": record.id, "version": record.version}) + b"\n"


def _read_record(data: bytes) -> RefreshRecord:
    first, _, rest = data.partition(b"\n")
    record = msgspec.json.decode(first, type=RefreshRecord)
    try:
        return replace(record, answer=msgspec.json.decode(rest, type=dict))
    except msgspec.MsgspecError:  # no answer, or only a part of it
        return record
