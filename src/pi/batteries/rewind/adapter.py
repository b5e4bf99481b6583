"""Connects rewind to a session: settings, hooks, commands and ``pi doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.batteries.rewind.commands import WORDS, RewindCommands
from pi.batteries.rewind.recorder import Recorder, RecordingPolicy, size_text
from pi.batteries.rewind.store import StoreLimits
from pi.extension import (
    CheckResult,
    ExtensionAPI,
    ExtensionContext,
    SessionShutdownEvent,
    SessionStartEvent,
    ToolCall,
)

DEFAULTS = StoreLimits()
SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("rewind.enabled", bool, False, "save files, for /rewind"),
    ("rewind.maxFileBytes", int, DEFAULTS.max_file_bytes, "bytes beyond which no file is saved"),
    ("rewind.maxFiles", int, DEFAULTS.max_files, "files and folders of a project that are covered"),
    ("rewind.maxBytes", int, DEFAULTS.max_bytes, "bytes of a project that are covered"),
    ("rewind.keepDays", int, DEFAULTS.keep_days, "days that the points of a session are kept"),
    ("rewind.storeBytes", int, DEFAULTS.store_bytes, "bytes of all saved files of all projects"),
)
OF_THE_STORE = ("rewind.keepDays", "rewind.storeBytes")


def extension(pi: ExtensionAPI) -> Recorder:
    """Register the commands; files are followed if ``rewind.enabled`` is set."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    recorder = Recorder(pi, lambda: _limits(pi))
    commands = RewindCommands(pi, recorder)

    def session_start(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        # The sub-sessions of this one have no history of their own: what they do is done here.
        if ctx.depth or not pi.settings.get("rewind.enabled"):
            return
        recorder.is_recording = True
        pi.wrap_files(recorder.layer, at="last")
        pi.add_policy(RecordingPolicy(recorder, lambda call: _tier(ctx, call)), at="last")

    async def session_shutdown(event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        await recorder.close()

    pi.on("session_start", session_start)
    pi.on("session_shutdown", session_shutdown)
    pi.on("before_agent_start", recorder.before_agent_start)
    pi.on("user_command_start", recorder.user_command_start)
    pi.on("user_command_end", recorder.user_command_end)
    pi.register_command(
        "rewind",
        commands.rewind,
        description="go back: /rewind, /rewind 2, /rewind recover, /rewind status",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
    pi.register_command("redo", commands.redo, description="take the last rewind back")
    pi.add_doctor_check("rewind", lambda ctx: _check_store(recorder, ctx))
    return recorder


def _limits(pi: ExtensionAPI) -> StoreLimits:
    # A project must not decide what is kept of the others.
    values = [
        max(0, int(pi.settings.get(name, with_project=name not in OF_THE_STORE)))
        for name, kind, _, _ in SETTINGS
        if kind is int
    ]
    return StoreLimits(
        max_file_bytes=values[0],
        max_files=values[1],
        max_bytes=values[2],
        keep_days=values[3],
        store_bytes=values[4],
    )


def _tier(ctx: ExtensionContext, call: ToolCall) -> str:
    return ctx.approval(call).tier


async def _check_store(recorder: Recorder, ctx: ExtensionContext) -> list[CheckResult]:
    """Remove what is too old, and report what is left."""
    store = recorder.store
    pruned = await recorder.run(store.prune)
    size = await recorder.run(store.size)
    projects = store.projects()
    limit = store.limits.store_bytes
    count = f"{len(projects)} project{'' if len(projects) == 1 else 's'}"
    text = f"{size_text(size)} of {size_text(limit)} in {count}"
    if pruned.sessions:
        text += f"; removed {pruned.sessions} old sessions, {size_text(pruned.bytes)}"
    found = [CheckResult(level="good" if size <= limit else "broken", text=text)]
    for project in projects:
        if project.restore.exists() and not project.running():
            text = f"a rewind in {Path(project.root)} was interrupted"
            advice = "run pi rewind recover there"
            found.append(CheckResult(level="broken", text=text, advice=advice))
    return found
