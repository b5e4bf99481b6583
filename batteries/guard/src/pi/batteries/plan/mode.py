"""The state of plan mode: on or off, the plan file, the model. It is stored in session entries."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pi.batteries.plan import texts
from pi.batteries.plan.guard import PROPOSE, PlanGuard
from pi.extension import (
    Custom,
    CustomMessage,
    Entry,
    ExtensionAPI,
    FileFailed,
    Model,
    Record,
    ThinkingLevel,
)

ENTRY = "plan_mode"
"""Custom type of the entries that store the state."""
STATUS = "plan"
FOLDER = "plans"
MAX_PLAN_BYTES = 1_000_000


class UsedModel(Record):
    """A model with its thinking level, as stored."""

    provider: str
    id: str
    thinking: ThinkingLevel


class PlanMode:
    """Plan mode in one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self.is_on = False
        self._file: Path | None = None
        self._before: UsedModel | None = None
        """The model to return to; ``None`` if plan mode has not switched models."""
        self._planner: tuple[str, str] | None = None
        """Provider and id of the model that plan mode switched to."""
        self._scratch: Path | None = None
        self.guard = PlanGuard(pi, self)

    @property
    def file(self) -> Path:
        """The plan file of this session; it may not exist yet."""
        if self._file is None:
            context = self._pi.context
            name = f"{context.session_manager.get_session_id()}.md"
            self._file = context.agent_dir / FOLDER / name
        return self._file

    async def scratch(self) -> Path:
        """Return a temporary folder that commands may use; it is removed with the session."""
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="pi-plan-"))
            self._pi.scope.on_close(partial(shutil.rmtree, self._scratch, ignore_errors=True))
        return self._scratch

    # The stored state -----------------------------------------------------------------------------

    def restore(self) -> None:
        """Load the state from the entries of the current branch."""
        data = stored_state(self._pi.context.session_manager.get_branch())
        self.is_on = data.get("on") is True
        file = data.get("file")
        self._file = Path(file) if isinstance(file, str) and file else None
        self._before = _used(data.get("before"))
        self._planner = None
        if self.is_on and self._before is not None and (model := self._pi.context.model):
            self._planner = (model.provider, model.id)
        self._show()

    async def _store(self) -> None:
        before = self._before
        data = {
            "on": self.is_on,
            "file": str(self.file),
            "before": None
            if before is None
            else {"provider": before.provider, "id": before.id, "thinking": before.thinking},
        }
        await self._pi.append_entry(ENTRY, data)

    # On and off -----------------------------------------------------------------------------------

    async def enter(self) -> None:
        """Switch plan mode on, use the model of the role, and inform the model."""
        if self.is_on:
            return
        # First, so that changes are already prevented during the awaits below.
        self.is_on = True
        self._before = self._planner = None
        await self._use_planner()
        await self._store()
        await self.announce()
        self._show()
        await self.publish()

    async def leave(self, message: str | None = texts.OFF) -> None:
        """Switch plan mode off and use the previous model again."""
        if not self.is_on:
            return
        await self._return_to_model()
        self.is_on = False
        self._before = self._planner = None
        await self._store()
        if message is not None:
            await self._send(message)
        self._show()
        await self.publish()

    async def publish(self) -> None:
        """Publish the state to other extensions and clients."""
        await self._pi.publish("plan_mode", {"on": self.is_on, "file": str(self.file)})

    async def announce(self) -> None:
        """Send the model a message that plan mode is on."""
        active = self._pi.get_active_tools()
        await self._send(
            texts.announcement(
                self.file,
                sandbox=await self.guard.sandbox() is not None,
                can_ask="ask" in active,
                can_propose=PROPOSE in active,
            )
        )

    def is_announced(self) -> bool:
        """Whether the model still sees the announcement: a compaction removes it."""
        projection = self._pi.context.session_manager.build_session_projection()
        return any(
            isinstance(message, CustomMessage) and message.custom_type == texts.MESSAGE
            for message in projection.messages
        )

    async def _send(self, text: str) -> None:
        await self._pi.send_message(
            {"custom_type": texts.MESSAGE, "content": text, "display": False}
        )

    def _show(self) -> None:
        ui = self._pi.context.ui
        ui.set_status(STATUS, "plan mode" if self.is_on else None)
        ui.set_fact(STATUS, "plan" if self.is_on else None)

    # The model of the role ------------------------------------------------------------------------

    async def _use_planner(self) -> None:
        roles = self._pi.models.roles
        candidates = await self._pi.models.for_role("plan", current=False)
        if reason := candidates.problem or (
            roles.overrides.get("plan") if not candidates.models else ""
        ):
            self._pi.warn(f"No model for the role plan: {reason}")
        current, level = self._pi.context.model, self._pi.context.thinking_level
        if not candidates.models or current is None:
            return
        chosen = candidates.models[0]
        planner = (chosen.model.provider, chosen.model.id)
        if planner == (current.provider, current.id) and chosen.thinking in (None, level):
            return
        if await self._pi.models.use(chosen.model, chosen.thinking):
            self._before = UsedModel(provider=current.provider, id=current.id, thinking=level)
            self._planner = planner

    async def _return_to_model(self) -> None:
        before, current = self._before, self._pi.context.model
        if before is None or current is None:
            return
        if self._planner != (current.provider, current.id):
            return  # the user has chosen another model meanwhile
        model: Model | None = self._pi.context.model_registry.find(before.provider, before.id)
        if model is not None:
            await self._pi.models.use(model, before.thinking)

    # The plan -------------------------------------------------------------------------------------

    async def read(self) -> str:
        """Return the plan; empty if there is none."""
        try:
            data = await self._pi.context.files.read_file(str(self.file), most=MAX_PLAN_BYTES)
        except FileFailed:
            return ""
        return data.decode("utf-8", "replace")

    async def write(self, plan: str) -> None:
        """Store the plan."""
        await self._pi.context.files.write_file(str(self.file), plan.encode())


def stored_state(branch: Sequence[Entry]) -> dict[str, Any]:
    """Return the last state in the entries of a branch; empty if there is none."""
    for entry in reversed(branch):
        if (
            isinstance(entry, Custom)
            and entry.custom_type == ENTRY
            and isinstance(entry.data, dict)
        ):
            return entry.data
    return {}


def _used(data: object) -> UsedModel | None:
    if not isinstance(data, dict):
        return None
    try:
        return UsedModel(provider=data["provider"], id=data["id"], thinking=data["thinking"])
    except (KeyError, TypeError):
        return None
