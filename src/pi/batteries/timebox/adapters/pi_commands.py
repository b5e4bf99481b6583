"""Which commands for the end of a budget may run: those that were given on this machine.

A budget is kept in its session with its command, and a session file may come from anybody. What
it brings along must not reach a shell because somebody has opened it.
"""

from __future__ import annotations

from hashlib import sha256

from pi.extension import ExtensionAPI, PiError

KEY = "on-stop-commands"
MOST = 200


class GivenCommands:
    """Remembers commands, as digests, in the person's own folder."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    def knows(self, command: str) -> bool:
        """Whether the person has given this command here."""
        try:
            return _digest(command) in self._kept()
        except PiError as problem:
            self._pi.log.warning("known commands cannot be read: %s", problem)
            return False

    async def remember(self, command: str) -> None:
        """Know ``command`` from now on; what cannot be kept holds until the session is left."""
        digest = _digest(command)
        try:
            others = [each for each in self._kept() if each != digest]
            await self._pi.store("global").set(KEY, [*others, digest][-MOST:])
        except PiError as problem:
            self._pi.log.warning("a command is not remembered: %s", problem)

    def _kept(self) -> list[str]:
        kept = self._pi.store("global").get(KEY)
        return kept if isinstance(kept, list) else []


def _digest(command: str) -> str:
    return sha256(command.encode("utf-8", "replace")).hexdigest()
