"""``/rewind``, ``/redo`` and ``pi rewind``: choose a point, preview the changes, restore.

Nothing is restored without confirmation, and "Do nothing" is always the default option.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Literal

from pi.batteries.rewind import restoring
from pi.batteries.rewind.history import History
from pi.batteries.rewind.planning import Plan, make_plan
from pi.batteries.rewind.preview import (
    PointRow,
    coverage_text,
    diff_lines,
    file_row,
    files_text,
    row_text,
    size_text,
    summary,
    title,
)
from pi.batteries.rewind.recorder import ENTRY, Recorder, point_data
from pi.batteries.rewind.restoring import Interrupted
from pi.batteries.rewind.timeline import Point, Scope
from pi.extension import (
    CommandContext,
    Entry,
    ExtensionAPI,
    MessageEntry,
    Option,
    PiError,
    UserMessage,
)

SCOPES: tuple[Scope, ...] = ("both", "files", "conversation")
NOTHING = "Do nothing"
BOTH = "Restore files and conversation"
FILES = "Restore only files"
CONVERSATION = "Restore only the conversation"
KEEP = "Keep these files as they are"
OVERWRITE = "Restore them, too"
RECOVERING = "Restoring files …"
SHOW_AFTER = 0.3
"""Seconds after which a screen shows the running operation."""
USAGE = "Usage: /rewind [n] [files|conversation], /rewind list, status, recover or prune; /redo"
OFF = (
    'Rewind is off: nothing is saved. Set "rewind": {"enabled": true} in settings.json, '
    "or switch it on in /settings."
)


class RewindCommands:
    """The commands of one session."""

    def __init__(self, pi: ExtensionAPI, recorder: Recorder) -> None:
        self._pi = pi
        self._recorder = recorder

    async def rewind(self, arguments: str, ctx: CommandContext) -> None:
        """Run ``/rewind …``. Errors are shown."""
        try:
            await self._rewind(arguments.split(), ctx)
        except PiError as error:
            self._fail(ctx, error.explain())

    async def redo(self, arguments: str, ctx: CommandContext) -> None:
        """Run ``/redo``. Errors are shown."""
        try:
            await self._redo(ctx)
        except PiError as error:
            self._fail(ctx, error.explain())

    async def _rewind(self, tokens: list[str], ctx: CommandContext) -> None:
        match tokens:
            case ["recover"]:
                await self._recover(ctx)
            case ["redo"]:
                await self._redo(ctx)
            case ["status"]:
                await self._status(ctx)
            case ["prune"]:
                await self._prune(ctx)
            case ["list"]:
                ctx.write(f"{self._listing(await self._rows(ctx))}\n")
            case []:
                await self._choose(ctx)
            case [number] if number.isdecimal():
                await self._go(await self._find_point(number, ctx), None, ctx)
            case [number, ("files" | "conversation" | "both") as scope] if number.isdecimal():
                await self._go(await self._find_point(number, ctx), _scope(scope), ctx)
            case _:
                raise PiError(USAGE)

    # Choosing a point -----------------------------------------------------------------------------

    async def _rows(self, ctx: CommandContext) -> list[PointRow]:
        """The points of the conversation, and the states before rewinds; the newest first."""
        await self._recorder.settled()  # the last point may still be captured
        history = await self._recorder.opened()
        timeline = history.journal.timeline
        branch = _point_ids(ctx.session_manager.get_branch())
        points = [p for p in timeline.points() if p.saved_by or p.id in branch]
        rows: list[PointRow] = []
        for point, following in zip_longest(points, points[1:]):
            changes = timeline.since(point)
            if following is not None:
                changes = changes[: len(changes) - len(timeline.since(following))]
            first = {file.path: file for change in reversed(changes) for file in change.files}
            sizes = (file.old.size for file in first.values() if file.old is not None)
            rows.append(PointRow(point=point, files=len(first), bytes=sum(sizes)))
        return rows[::-1]

    async def _find_point(self, number: str, ctx: CommandContext) -> Point:
        prompts = [row.point for row in await self._rows(ctx) if not row.point.saved_by]
        if not 1 <= int(number) <= len(prompts):
            raise PiError(f"There is no point {number}.", hint=self._point_hint(len(prompts)))
        return prompts[int(number) - 1]

    def _point_hint(self, count: int) -> str:
        if not count:
            return "" if self._is_enabled else OFF
        return f"Points: 1 (before the last prompt) to {count}."

    @property
    def _is_enabled(self) -> bool:
        return bool(self._pi.settings.get("rewind.enabled"))

    def _listing(self, rows: Sequence[PointRow]) -> str:
        lines = []
        number = 0
        for row in rows:
            number += not row.point.saved_by
            mark = "" if row.point.saved_by else str(number)
            lines.append(f"{mark:>3}  {row_text(row)}")
        return "\n".join(lines) or f"There are no points. {'' if self._is_enabled else OFF}".strip()

    async def _choose(self, ctx: CommandContext) -> None:
        rows = await self._rows(ctx)
        if not rows or ctx.mode in ("print", "json"):
            text = self._listing(rows)
            if ctx.mode == "print" and rows:
                text += "\n`pi rewind N` shows what would change, `pi rewind N --yes` does it."
            self._write(ctx, text)
            return
        if ctx.mode == "tui":
            point = await self._point_screen(rows, ctx)
        else:
            labels = {f"{n}  {row_text(row)}": row.point for n, row in enumerate(rows, 1)}
            answer = await ctx.ui.select("Rewind to", [NOTHING, *labels])
            point = labels.get(answer or "")
        if point is not None:
            await self._go(point, None, ctx)

    async def _point_screen(self, rows: Sequence[PointRow], ctx: CommandContext) -> Point | None:
        from pi.batteries.rewind.views import PointsScreen  # deferred: only drawn here

        history = await self._recorder.opened()
        coverage = coverage_text(await self._recorder.run(history.coverage))
        chosen: Point | None = await ctx.ui.custom(partial(PointsScreen, rows, coverage))
        return chosen

    # Restoring ------------------------------------------------------------------------------------

    async def _go(self, point: Point, scope: Scope | None, ctx: CommandContext) -> None:
        """Preview a rewind to a point, ask the user, and restore."""
        if not ctx.is_idle():
            raise PiError("The agent is running.", hint="Press Escape first, or wait for its end.")
        history, plan = await self._plan(point)
        if ctx.mode in ("print", "json"):
            await self._go_unasked(plan, scope, ctx)
            return
        if scope is None:
            scope = await self._ask_scope(history, plan, ctx)
        elif not await self._confirm(plan, ctx):
            scope = None
        if scope is None:
            self._write(ctx, "Nothing was changed.")
            return
        await self._restore(plan, scope, "rewind", ctx)

    async def _plan(self, point: Point) -> tuple[History, Plan]:
        history = await self._recorder.opened()
        if self._recorder.interrupted is not None:
            raise PiError("An earlier rewind was interrupted.", hint="Use /rewind recover first.")
        await self._recorder.settled()
        await self._recorder.run(history.capture, "outside")
        return history, await self._recorder.run(make_plan, history, point)

    async def _ask_scope(self, history: History, plan: Plan, ctx: CommandContext) -> Scope | None:
        if ctx.mode == "tui" and plan.files:
            from pi.batteries.rewind.views import PreviewScreen  # deferred: only drawn here

            lines = await self._recorder.run(diff_lines, history, plan.files)
            if not await ctx.ui.custom(partial(PreviewScreen, plan, lines)):
                return None
        question = f"Rewind to before “{title(plan.point)}”. Files: {summary(plan)}"
        options = [Option(label=NOTHING)]
        if plan.steps(foreign=True):
            options.append(Option(label=BOTH, description="the prompt returns to the editor"))
            options.append(Option(label=FILES, description="the conversation goes on"))
        options.append(Option(label=CONVERSATION, description="no file is changed"))
        answer = await ctx.ui.select(question, options, initial=NOTHING)
        scopes: dict[str | None, Scope] = {BOTH: "both", FILES: "files"}
        scopes[CONVERSATION] = "conversation"
        return scopes.get(answer)

    async def _confirm(self, plan: Plan, ctx: CommandContext) -> bool:
        go = "Restore"
        rows = [file_row(file) for file in plan.files[:20]]
        more = [f"… {len(plan.files) - len(rows)} more"] if len(plan.files) > len(rows) else []
        question = "\n".join([f"{title(plan.point)}. Files: {summary(plan)}", *rows, *more])
        return await ctx.ui.select(question, [NOTHING, go], initial=NOTHING) == go

    async def _restore(
        self, plan: Plan, scope: Scope, kind: Literal["rewind", "redo"], ctx: CommandContext
    ) -> None:
        overwrites = False
        if plan.foreign and scope != "conversation":
            rows = [f"  {file_row(file)}" for file in plan.foreign[:10]]
            more = len(plan.foreign) - len(rows)
            rows += [f"  … {more} more"] if more > 0 else []
            question = "\n".join(["These files were changed outside of this session:", *rows])
            answer = await ctx.ui.select(question, [NOTHING, KEEP, OVERWRITE], initial=NOTHING)
            if answer not in (KEEP, OVERWRITE):
                self._write(ctx, "Nothing was changed.")
                return
            overwrites = answer == OVERWRITE
        await self._perform(plan, scope, kind, ctx, overwrites=overwrites)

    async def _perform(
        self,
        plan: Plan,
        scope: Scope,
        kind: Literal["rewind", "redo"],
        ctx: CommandContext,
        *,
        overwrites: bool,
    ) -> None:
        """Restore files, then the conversation, and report the result."""
        history = await self._recorder.opened()
        steps = plan.steps(foreign=overwrites) if scope != "conversation" else ()
        target = self._target(plan.point, ctx) if scope != "files" else ""
        if scope == "conversation" and not target:
            raise PiError("The prompt of this point is not in this conversation.")
        work = partial(
            restoring.restore,
            history,
            plan,
            steps,
            kind=kind,
            scope=scope,
            leaf=ctx.session_manager.get_leaf_id() or "",
            navigate=target,
        )
        await self._run_shown(work, f"Restoring {files_text(len(steps))} …", ctx)
        moved = await self._navigate(target, ctx) if target else ""
        await self._recorder.run(restoring.end, history)
        unchanged = len(plan.files) - len(steps) if scope != "conversation" else 0
        data = {"action": kind, "to": plan.point.id, "session": history.session.id, "scope": scope}
        # An entry at the new place: without one, the session would open at its old end again.
        await self._pi.append_entry(ENTRY, data)
        done = f"{files_text(len(steps))} restored" if scope != "conversation" else ""
        stayed = (
            f"{files_text(unchanged)} left as {'it is' if unchanged == 1 else 'they are'}"
            if unchanged
            else ""
        )
        undo = "/redo takes it back." if kind == "rewind" else ""
        parts = [part for part in (done, stayed, moved) if part]
        self._write(ctx, f"{'; '.join(parts).capitalize()}. {undo}".strip())

    async def _run_shown(self, work: Callable[[], object], text: str, ctx: CommandContext) -> None:
        """Do work in the thread of the recorder. If it takes long, a screen blocks the keyboard.

        A prompt that is sent meanwhile would let the model work on half-restored files.
        """
        task = self._pi.scope.spawn(self._recorder.run(work), name="restoring files")
        if ctx.mode == "tui" and not (await asyncio.wait({task}, timeout=SHOW_AFTER))[0]:
            from pi.batteries.rewind.views import WorkScreen  # deferred: only drawn here

            await ctx.ui.custom(partial(WorkScreen, text, task))
        await task

    def _target(self, point: Point, ctx: CommandContext) -> str:
        """The entry that the conversation moves to; empty if it is not in this session."""
        manager = ctx.session_manager
        if point.saved_by:
            return point.leaf if manager.get_entry(point.leaf) is not None else ""
        return prompt_entry(manager.get_entries(), point.id)

    async def _navigate(self, target: str, ctx: CommandContext) -> str:
        if ctx.session_manager.get_leaf_id() == target:
            return ""
        result = await ctx.navigate_tree(target)
        if result.cancelled:
            return "the conversation stays where it is: an extension prevented the move"
        if result.text:
            ctx.ui.set_editor_text(result.text)
        return "the conversation has moved"

    # Redo and recovery ----------------------------------------------------------------------------

    async def _redo(self, ctx: CommandContext) -> None:
        if not ctx.is_idle():
            raise PiError("The agent is running.", hint="Press Escape first, or wait for its end.")
        history = await self._recorder.opened()
        undone = history.journal.timeline.redo()
        point = None if undone is None else history.journal.timeline.point(undone.saved)
        if undone is None or point is None:
            raise PiError("There is no rewind to take back.")
        _, plan = await self._plan(point)
        if ctx.mode in ("print", "json"):
            await self._go_unasked(plan, undone.scope, ctx, kind="redo")
            return
        if await self._confirm(plan, ctx):
            await self._restore(plan, undone.scope, "redo", ctx)
        else:
            self._write(ctx, "Nothing was changed.")

    async def _recover(self, ctx: CommandContext) -> None:
        """Finish or undo a restoration that was interrupted."""
        history = await self._recorder.opened()
        intent = await self._recorder.run(restoring.read_interrupted, history)
        if intent is None:
            self._recorder.interrupted = None
            self._write(ctx, "No rewind was interrupted.")
            return
        if intent.session != history.session.id:
            file = history.folder.journal(intent.session)
            raise PiError(
                f"The rewind of another session was interrupted: {intent.session}.",
                hint=f"Run pi rewind recover --session {intent.session}."
                if file.exists()
                else f"Its journal is gone; remove {history.folder.restore}.",
            )
        answer = await self._ask_recovery(history, intent, ctx)
        if answer is None:
            self._write(ctx, "Nothing was changed.")
            return
        if answer == "undo":
            await self._run_shown(partial(restoring.undo, history, intent), RECOVERING, ctx)
            self._write(ctx, "The interrupted rewind was taken back.")
        else:
            await self._run_shown(partial(restoring.finish, history, intent), RECOVERING, ctx)
            moved = ""
            if intent.navigate and ctx.session_manager.get_entry(intent.navigate) is not None:
                moved = await self._navigate(intent.navigate, ctx)
                await self._pi.append_entry(ENTRY, {"action": "recover", "session": intent.session})
            await self._recorder.run(restoring.end, history)
            self._write(ctx, f"The interrupted rewind is finished. {moved.capitalize()}".strip())
        self._recorder.interrupted = None

    async def _ask_recovery(
        self, history: History, intent: Interrupted, ctx: CommandContext
    ) -> Literal["finish", "undo"] | None:
        changed = await self._recorder.run(restoring.conflicts, history, intent)
        since = f" Changed since then and not restored: {files_text(len(changed))}."
        count = files_text(len(intent.restoration.files))
        text = f"A rewind of {count} was interrupted.{since if changed else ''}"
        if ctx.mode in ("print", "json"):
            if ctx.flags.get("yes"):
                return "finish"
            self._write(ctx, f"{text} `pi rewind recover --yes` finishes it.")
            return None
        finish, undo = "Finish it", "Take it back"
        answer = await ctx.ui.select(text, [NOTHING, finish, undo], initial=NOTHING)
        return "finish" if answer == finish else "undo" if answer == undo else None

    # ``pi rewind`` --------------------------------------------------------------------------------

    async def _go_unasked(
        self,
        plan: Plan,
        scope: Scope | None,
        ctx: CommandContext,
        *,
        kind: Literal["rewind", "redo"] = "rewind",
    ) -> None:
        """``pi rewind``: show the changes; with ``--yes`` restore."""
        flags = ctx.flags
        only = flags.get("only")
        if only not in (None, "", *SCOPES):
            raise PiError(f"Unknown value {only!r} of --only.", hint="Use files or conversation.")
        scope = scope or (_scope(str(only)) if only else "both")
        history = await self._recorder.opened()
        if not flags.get("yes"):
            lines = [f"{title(plan.point)}: {summary(plan)}", *map(file_row, plan.files)]
            if scope != "conversation":
                lines += await self._recorder.run(diff_lines, history, plan.files)
            self._write(ctx, "\n".join([*lines, "Nothing was changed: --yes does it."]))
            return
        changed = flags.get("changed")
        if plan.foreign and scope != "conversation" and changed not in ("keep", "restore"):
            rows = "\n".join(map(file_row, plan.foreign))
            raise PiError(
                f"Files were changed outside of pi; nothing was changed.\n{rows}",
                hint="--changed keep leaves them as they are, --changed restore restores them.",
            )
        await self._perform(plan, scope, kind, ctx, overwrites=changed == "restore")

    async def _status(self, ctx: CommandContext) -> None:
        history = await self._recorder.opened()
        if self._is_enabled:
            await self._recorder.settled()
            await self._recorder.run(history.capture, "outside")
        coverage = await self._recorder.run(history.coverage)
        size = await self._recorder.run(history.store.size)
        limit = history.store.limits.store_bytes
        lines = [
            coverage_text(coverage) if self._is_enabled else OFF,
            f"The store has {size_text(size)} of {size_text(limit)}.",
        ]
        if self._recorder.interrupted is not None:
            lines.append("A rewind was interrupted: /rewind recover.")
        self._write(ctx, "\n".join(lines))

    async def _prune(self, ctx: CommandContext) -> None:
        store = self._recorder.store
        pruned = await self._recorder.run(store.prune)
        size = await self._recorder.run(store.size)
        text = f"Removed {pruned.sessions} sessions, {size_text(pruned.bytes)}."
        self._write(ctx, f"{text} The store has {size_text(size)}.")

    def _write(self, ctx: CommandContext, text: str) -> None:
        if ctx.mode in ("print", "json"):
            ctx.write(f"{text}\n")
        elif "\n" in text:
            ctx.write(text)
        else:
            ctx.ui.notify(text, "info")

    def _fail(self, ctx: CommandContext, text: str) -> None:
        if ctx.mode == "print":
            self._pi.warn(text)
            ctx.exit(1)
        ctx.ui.notify(text, "error")


def _scope(word: str) -> Scope:
    return next(scope for scope in SCOPES if scope == word)


def _point_ids(entries: Sequence[Entry]) -> set[str]:
    point_records = (point_data(entry) for entry in entries)
    return {str(data["id"]) for data in point_records if data is not None and "id" in data}


def prompt_entry(entries: Sequence[Entry], point: str) -> str:
    """Return the id of the user message after the entry of a point; else the id of that entry.

    Empty if there is no entry of the point.
    """
    below: set[str] = set()
    first = ""
    for entry in entries:
        data = point_data(entry)
        if data is not None and data.get("id") == point:
            below.add(entry.id)
            first = first or entry.id
        elif entry.parent_id in below:
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
                return entry.id
            below.add(entry.id)
    return first
