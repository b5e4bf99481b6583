"""Commands about the session: switching, branching, naming, exporting, compaction."""

from __future__ import annotations

import asyncio

from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.text import readable_summary
from pi.base.errors import PiError
from pi.base.records import replace
from pi.base.terminal_text import sanitise
from pi.coding.compaction.execution import CompactionPreview
from pi.coding.compaction.request import CompactArguments
from pi.coding.port.results import ForkPoint, Replaced
from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.errors import SessionInUse
from pi.coding.session.file_operations import unquoted
from pi.coding.session.writing import SESSIONS
from pi.modes.interactive.commands.table import require_idle
from pi.modes.interactive.dialogs.context_view import ContextView, context_parts
from pi.modes.interactive.dialogs.fork_point import pick_fork_point
from pi.modes.interactive.dialogs.opening import ask_about_folder, ask_fork_busy_session
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.dialogs.reports import Section, SectionsView
from pi.modes.interactive.dialogs.session_facts import session_info
from pi.modes.interactive.dialogs.sessions import SessionScope, pick_session
from pi.modes.interactive.dialogs.tree.dialog import arrive, walk_tree
from pi.modes.interactive.dialogs.tree.nodes import decode_raw
from pi.modes.interactive.dialogs.usage import UsageView, usage_of
from pi.modes.interactive.dialogs.waiting import read_history
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.text import Text


async def tree(ui: Ui, arguments: str) -> None:
    """Open the session tree."""
    await walk_tree(ui)


async def fork(ui: Ui, arguments: str) -> None:
    """Fork the session before a message."""
    require_idle(ui)
    if not await read_history(ui):
        return
    points = ui.port.info.fork_points()
    if not points:
        raise PiError("There is no message to fork from yet.")
    point = _named_point(points, arguments) if arguments else await pick_fork_point(ui, points)
    if point is None or not await _may_leave_shared(ui):
        return
    forked = await ui.port.sessions.fork(point.entry_id)
    if not forked.cancelled:
        arrive(ui, forked.text)
        ui.notify("Forked to a new session")


async def _may_leave_shared(ui: Ui) -> bool:
    """Ask before a copy replaces the session of a host on the screen."""
    if ui.port.info.runs_here:
        return True
    title = "Leave the shared session, and go on in a copy of your own?"
    return await confirm(ui, title, yes="Leave and copy", no="Stay")


async def branch(ui: Ui, arguments: str) -> None:
    """Go back to a message: in the tree of this session, or in a new session.

    The setting of double Escape decides; with a message as argument, always in a new session.
    """
    if not arguments and ui.port.settings.values.double_escape_action == "tree":
        await tree(ui, "")
    else:
        await fork(ui, arguments)


async def clone(ui: Ui, arguments: str) -> None:
    """Clones the branch into a new session."""
    require_idle(ui)
    if not await _may_leave_shared(ui):
        return
    _notify_replaced(ui, await ui.port.sessions.clone(), "Cloned to a new session")


async def new(ui: Ui, arguments: str) -> None:
    """Start a new session."""
    _notify_replaced(ui, await ui.port.sessions.new(), "New session started")


async def resume(ui: Ui, arguments: str) -> None:
    """Resume another session; its folder may be missing."""
    facts = ui.port.info
    scope = SessionScope(
        host=ui.host,
        catalog=session_catalog(ui),
        cwd=str(facts.cwd),
        current=ui.port.entries.log.file,
        rename_current=facts.rename,
    )
    path = await pick_session(ui, scope)
    if path is None or (answer := await ask_about_folder(ui, path, str(facts.cwd))) is None:
        return
    if answer == "fork":
        _notify_replaced(ui, await ui.port.sessions.fork_file(path), "Forked to a new session")
        return
    try:
        _notify_replaced(ui, await ui.port.sessions.switch(path), "Resumed session")
    except SessionInUse as busy:
        if await ask_fork_busy_session(ui, busy, no="Cancel"):
            _notify_replaced(ui, await ui.port.sessions.fork_file(path), "Forked to a new session")


async def import_session(ui: Ui, arguments: str) -> None:
    """Import a session file as a copy and open it, or import the histories of another agent."""
    if not arguments:
        raise PiError(
            "No file given.", hint="For example: /import ~/session.jsonl, or /import claude"
        )
    path = unquoted(arguments, ui.host.home)
    agent, *options = arguments.split()
    if (ui.port.info.cwd / path).exists() or not await _import_histories(ui, agent, options):
        _notify_replaced(ui, await ui.port.sessions.import_file(path), f"Imported {path.name}")


async def _import_histories(ui: Ui, agent: str, options: list[str]) -> bool:
    """Import the histories of this folder, or of all with ``--all``, and show the report.

    Returns whether a package imports those of ``agent``.
    """
    # lazy: few users come from another agent
    from pi.coding.import_sources import HistoryFolders, find_import_sources, import_histories

    agents = await asyncio.to_thread(find_import_sources)
    if agent not in agents:
        return False
    if options not in ([], ["--all"]):
        hint = f"/import {'|'.join(agents)} [--all]"
        raise PiError(f"Unknown option {options[0]}.", hint=hint)
    folders = HistoryFolders(
        home=ui.host.home,
        agent_dir=ui.host.agent_dir,
        environ=ui.host.environ,
        session_dir=session_catalog(ui).custom,
    )
    cwd = None if options else ui.port.info.cwd
    with ui.working(f"Importing from {agent}"):
        report = await asyncio.to_thread(import_histories, agent, folders, cwd=cwd)
    ui.add_output(Text(sanitise(f"{report.describe()}\n/resume opens them.")))
    return True


async def name(ui: Ui, arguments: str) -> None:
    """Set or show the name of the session."""
    if arguments:
        await ui.port.info.rename(arguments)
    named = ui.port.info.state().session_name
    ui.notify(f"Session name: {named}" if isinstance(named, str) else "The session has no name.")


async def session(ui: Ui, arguments: str) -> None:
    """Show information about the session."""
    facts, values = ui.port.info, ui.port.settings.values
    info = session_info(
        facts.state(),
        facts.stats(),
        home=ui.host.home,
        cache_warming=values.cache_warming,
        error=ui.port.entries.log.problem,
    )
    ui.add_output(SectionsView(ui.theme, [info]))


async def usage(ui: Ui, arguments: str) -> None:
    """Show tokens and cost."""
    if not await read_history(ui):
        return
    facts = ui.port.info
    entries = [decode_raw(raw) for raw in facts.entries()]
    used = replace(
        usage_of(entries, facts.context_usage(), facts.plan_limits()),
        credentials=facts.credential_source(),
    )
    ui.add_output(UsageView(used, ui.theme, now=ui.clock.now_ms() / 1000))


async def context(ui: Ui, arguments: str) -> None:
    """Show what fills the window of the model."""
    facts = ui.port.info
    usage = facts.context_usage()
    if usage is None:
        raise PiError("No model is selected, so there is no window to show.", hint="See /model.")
    parts = context_parts(facts.messages(), ui.port.prompts.system_message(), usage.tokens)
    ui.add_output(ContextView(ui.theme, parts, usage))


async def compact(ui: Ui, arguments: str) -> None:
    """Compact the conversation now; a running turn is interrupted."""
    options = CompactArguments.parse(arguments)
    how = {"strategy": options.strategy}
    if options.preview:
        plan = await ui.port.compaction.preview(options.instructions, **how)
        is_automatic = ui.port.info.state().auto_compaction_enabled
        ui.add_output(SectionsView(ui.theme, [preview_section(plan, is_automatic=is_automatic)]))
        if plan.carried and not plan.problem:
            carried = f"Repeated word for word:\n\n{readable_summary(plan.carried)}"
            ui.add_output(Text(sanitise(carried)))
        if plan.problem or not await confirm(ui, "Compact now?"):
            return
    try:
        await ui.port.compaction.compact(options.instructions, **how)
    except CompactionFailed as error:
        if error.code == "aborted":  # other errors are reported by the session itself
            ui.notify(error.message, "warning")


def preview_section(plan: CompactionPreview, *, is_automatic: bool = True) -> Section:
    """Return what a compaction would drop and keep, as a table."""
    when = "not compacted automatically"
    if is_automatic:
        when = f"compacted automatically above {plan.threshold:,}"
    rows = [
        ("Strategy", plan.strategy),
        ("In use", f"{plan.tokens:,} tokens; {when}"),
    ]
    if plan.problem:
        rows.append(("Problem", plan.problem))
    elif plan.keeps == "all":
        kept_count = _messages(plan.kept_messages)
        rows.append(("Kept", f"all: {kept_count}; large tool results become notes"))
    else:
        rows.append(("Dropped", _messages(plan.dropped_messages, plan.dropped_tokens)))
        if plan.keeps == "nothing":
            rows.append(("Kept", "nothing as it is; a document replaces the whole conversation"))
        else:
            rows.append(("Kept", _messages(plan.kept_messages, plan.kept_tokens)))
            rows.append(("Kept from", plan.first_kept))
    return Section(title="Compaction", rows=tuple(rows), paint="muted")


def _messages(count: int, tokens: int | None = None) -> str:
    size = "" if tokens is None else f", about {tokens:,} tokens"
    return f"{count} message{'s' * (count != 1)}{size}"


def _named_point(points: list[ForkPoint], id: str) -> ForkPoint:
    """Return the message with this id or id prefix."""
    matches = [p for p in points if p.entry_id == id] or [
        p for p in points if p.entry_id.startswith(id)
    ]
    if len(matches) == 1:
        return matches[0]
    message = (
        f"{len(matches)} messages have an id that begins with"
        if matches
        else "No message has the id"
    )
    hint = "/fork alone lists your messages; Tab completes their ids."
    raise PiError(f"{message} {id}", hint=hint)


def _notify_replaced(ui: Ui, result: Replaced, text: str) -> None:
    if result.cancelled:
        ui.notify("Cancelled by an extension.", "warning")
    else:
        ui.notify(text)


def session_catalog(ui: Ui) -> SessionCatalog:
    """Return the catalogue that contains this session; usually that of the agent directory."""
    usual, file = ui.host.agent_dir / SESSIONS, ui.port.entries.log.file
    custom = file.parent if file is not None and file.parent.parent != usual else None
    return SessionCatalog(ui.host.agent_dir, custom=custom)
