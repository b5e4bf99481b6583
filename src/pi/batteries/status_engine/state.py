"""What the status tells about: a snapshot of the session, handed to the engine."""

from __future__ import annotations

from pathlib import PurePath

from pi.extension import Record


class GitState(Record):
    """What is known of the repository; nothing outside of one."""

    branch: str = ""
    """``detached`` if HEAD is on none."""
    added: int | None = None
    """Lines since the last commit; ``None`` as long as nobody has counted them."""
    removed: int | None = None


class ContextWindow(Record):
    """How full the model's window is."""

    size: int
    used_percent: float | None = None
    """``None`` after a compaction, until the next answer."""


class StatusEngineState(Record):
    """Everything that lines 2 and 3 can be made of. What is empty is not shown."""

    session_id: str = ""
    transcript_path: str = ""
    """The file of the session; empty if it is kept in memory."""
    cwd: str = ""
    model: str = ""
    model_name: str = ""
    effort: str = ""
    """How much the model thinks; empty if it cannot."""
    sandbox: str = ""
    approval: str = ""
    git: GitState = GitState()
    since_session_ms: int = 0
    """Monotonic; begins anew with every session."""
    cost_usd: float = 0.0
    context: ContextWindow | None = None

    @property
    def workspace_name(self) -> str:
        """The last part of the working directory."""
        return PurePath(self.cwd).name or self.cwd
