"""What modes may do about asking again after a failed answer."""

from __future__ import annotations

from pi.coding.retry.policy import RetryPolicy
from pi.coding.runtime.core import Core


class Retrying:
    """The person's hand on the retries of a session."""

    def __init__(self, core: Core, policy: RetryPolicy) -> None:
        self._core = core
        self._policy = policy

    async def abort(self) -> bool:
        """Give up the retry that is being waited for; False if it is not, or no longer."""
        is_waiting = self._policy.waiting
        await self._policy.cancel()
        return is_waiting

    def set_automatic(self, *, enabled: bool) -> None:
        """Say for this session whether failed answers are asked for again."""
        self._core.workspace.settings.override({"retry.enabled": enabled})
