"""What modes may do about asking again after a failed answer."""

from __future__ import annotations

from pi.coding.retry.policy import RetryPolicy
from pi.coding.runtime.core import Core


class Retrying:
    """The person's hand on the retries of a session."""

    def __init__(self, core: Core, policy: RetryPolicy) -> None:
        self._core = core
        self._policy = policy

    async def abort(self) -> None:
        """Give up the retry that is being waited for."""
        await self._policy.cancel()

    def set_automatic(self, *, enabled: bool) -> None:
        """Say for this session whether failed answers are asked for again."""
        self._core.workspace.settings.override({"retry.enabled": enabled})
