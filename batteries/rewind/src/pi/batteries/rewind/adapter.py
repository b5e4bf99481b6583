"""Connects rewind to a session: settings, hooks, commands and ``pi doctor``."""

from __future__ import annotations

from pathlib import Path

from pi.batteries.rewind.recorder import Recorder, RecordingPolicy
from pi.batteries.rewind.settings import SETTINGS, read_limits
from pi.extension import (
    CheckResult,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    SessionShutdownEvent,
    SessionStartEvent,
    ToolCall,
)

WORDS = ("recover", "status", "list", "prune", "redo")


def extension(pi: ExtensionAPI) -> Recorder:
    """Register the commands; changes are recorded if ``rewind.enabled`` is set."""
    pi.settings.declare_all(SETTINGS)
    recorder = Recorder(pi, lambda: read_limits(pi))

    def session_start(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        # Sub-sessions have no history of their own: their changes count as changes of this one.
        if ctx.depth or not pi.settings.get("rewind.enabled"):
            return
        recorder.is_recording = True
        pi.wrap_files(recorder.layer, at="last")
        pi.add_policy(RecordingPolicy(recorder, lambda call: _tier(ctx, call)), at="last")

    async def session_shutdown(event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        await recorder.close()

    async def rewind(arguments: str, ctx: CommandContext) -> None:
        from pi.batteries.rewind.commands import (
            RewindCommands,
        )  # deferred: most sessions never rewind

        await RewindCommands(pi, recorder).rewind(arguments, ctx)

    async def redo(arguments: str, ctx: CommandContext) -> None:
        from pi.batteries.rewind.commands import RewindCommands  # deferred, as above

        await RewindCommands(pi, recorder).redo(arguments, ctx)

    pi.on("session_start", session_start)
    pi.on("session_shutdown", session_shutdown)
    pi.on("before_agent_start", recorder.before_agent_start)
    pi.on("user_command_start", recorder.user_command_start)
    pi.on("user_command_end", recorder.user_command_end)
    pi.register_command(
        "rewind",
        rewind,
        description="go back: /rewind, /rewind 2, /rewind recover, /rewind status",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
    pi.register_command("redo", redo, description="take the last rewind back")
    pi.provide("file-history", recorder)
    pi.add_doctor_check("rewind", lambda ctx: _check_store(recorder, ctx))
    return recorder


def _tier(ctx: ExtensionContext, call: ToolCall) -> str:
    return ctx.approval(call).tier


async def _check_store(recorder: Recorder, ctx: ExtensionContext) -> list[CheckResult]:
    """Prune the store; report its size, and rewinds that were interrupted."""
    from pi.batteries.rewind.preview import size_text  # deferred: only for pi doctor

    store = recorder.store
    pruned = await recorder.run(store.prune)
    size = await recorder.run(store.size)
    projects = store.projects()
    limit = store.limits.store_bytes
    count = f"{len(projects)} project{'' if len(projects) == 1 else 's'}"
    text = f"{size_text(size)} of {size_text(limit)} in {count}"
    if pruned.sessions:
        text += f"; removed {pruned.sessions} old sessions, {size_text(pruned.bytes)}"
    checks = [CheckResult(level="good" if size <= limit else "broken", text=text)]
    for project in projects:
        if project.restore.exists() and not project.running():
            text = f"a rewind in {Path(project.root)} was interrupted"
            advice = "run pi rewind recover there"
            checks.append(CheckResult(level="broken", text=text, advice=advice))
    return checks
