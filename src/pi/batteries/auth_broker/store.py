"""The broker's accounts in one private file, shared with the words of ``pi auth-broker``."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from pi.batteries.auth_broker.protocol import (
    StoredAccount,
    StoredAccounts,
    label_of,
)
from pi.extension import FileLock, Json, PiError, replace, replace_file

LOCK_SECONDS = 10.0


class BrokerStore:
    """Reads and changes the file. Every change is on the disk before it counts."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "accounts.json"
        self._lock = folder / "accounts.lock"
        self._seen: tuple[int, int, int] | None = None
        self._read = StoredAccounts()

    def read(self) -> StoredAccounts:
        """Returns the current content; parses the file only if it has changed."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return StoredAccounts()
        stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
        if stamp != self._seen:
            if sys.platform != "win32" and found.st_mode & 0o077:
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
            # Nothing here waits, so that a cancelled caller never leaves a change half made.
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
        """Change one account, found by its id and never by its place; ``None`` if it is gone."""

        def all_accounts(old: StoredAccounts) -> StoredAccounts:
            rows = tuple(edit(each) if each.id == id else each for each in old.accounts)
            return replace(old, accounts=rows)

        return (await self.change(all_accounts)).account(id)

    async def put(self, provider: str, entry: Json, label: str = "") -> StoredAccount:
        """Add a credential, or replace that of the same provider and label."""
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
            rows = tuple(row if each.id == chosen else each for each in old.accounts)
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
