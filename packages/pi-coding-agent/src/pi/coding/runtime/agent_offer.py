"""Decides which other agents are used, and asks about their files in the home directory.

These files were not written for pi, so the user is asked once for every agent. The answer is stored
in ``consent.json``; the setting ``sources.NAME`` takes precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.errors import PiError
from pi.coding.other_agents import AGENTS, AgentUse, offered
from pi.coding.port.ui import ExtensionUI, Option
from pi.coding.runtime.machine import Machine
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # deferred: most users have no stored decisions
    from pi.coding.consent import ConsentRequest, ConsentStore

CONSENT = "consent.json"
KIND = "files of another agent"
USE = Option(label="Use them")
IGNORE = Option(label="Do not use them")
MAX_NAMED = 8


def switched_off(settings: Settings) -> AgentUse:
    """Return the use of agents with those that ``sources`` switches off; none is accepted.

    Enough to find the files that need trust.
    """
    sources = settings.raw.get("sources")
    named = sources.items() if isinstance(sources, dict) else ()
    return AgentUse(off=frozenset(name for name, value in named if value is False))


def agent_use(machine: Machine, settings: Settings) -> AgentUse:
    """Return the use of agents, with stored decisions about files in the home directory."""
    off = switched_off(settings).off
    # A project must not decide about files of the user.
    accepted = {name for name in AGENTS if settings.without_project(("sources", name)) is True}
    answers = _answers(machine)
    accepted |= {name for name, allowed in answers.items() if allowed}
    return AgentUse(off=off, accepted=frozenset(accepted))


async def offer_agents(
    machine: Machine, settings: Settings, ui: ExtensionUI | None, *, reports: bool
) -> bool:
    """Ask about files of other agents in the home directory; returns whether one was accepted.

    Asks once for each agent. Without a user the files are not used, and one line reports them if
    ``reports``.
    """
    use = agent_use(machine, settings)
    open_offers = offered(machine.home, use, _answers(machine))
    if not open_offers:
        return False
    if ui is None or not ui.has_ui:
        if reports:
            machine.report(_not_used_warning(open_offers))
        return False
    store, accepted = _store(machine), False
    for name, paths in open_offers.items():
        answer = await ui.select(_question(name, paths, machine.home), [USE, IGNORE])
        if answer is None:  # closed without an answer, for example by a disconnected client
            continue
        try:
            store.decide(_request(machine, name), allowed=answer == USE.label)
        except PiError as error:  # the user is asked again next time
            _warn(machine, error)
            continue
        accepted = accepted or answer == USE.label
    return accepted


def _not_used_warning(offers: Iterable[str]) -> str:
    titles = ", ".join(AGENTS[name].title for name in offers)
    names = ", ".join(f"sources.{name}" for name in offers)
    return f"Not used: your own files of {titles}. Start pi to decide, or set {names}."


def _question(name: str, paths: Sequence[Path], home: Path) -> str:
    title = AGENTS[name].title
    lines = [f"Use your files of {title}, too?", ""]
    lines += (f"• ~/{path.relative_to(home)}" for path in paths[:MAX_NAMED])
    if len(paths) > MAX_NAMED:
        lines.append(f"• and {len(paths) - MAX_NAMED} more")
    lines += ["", f"Skills, commands and instructions in them. Later: sources.{name} in /settings."]
    return "\n".join(lines)


def _answers(machine: Machine) -> dict[str, bool]:
    """Return the stored decisions by agent."""
    if not (machine.agent_dir / CONSENT).exists():
        return {}
    try:
        stored = _store(machine).decisions()
    except PiError as error:
        _warn(machine, error)
        return {}
    if not stored:
        return {}
    digests = {name: _request(machine, name).digest for name in AGENTS}
    return {name: stored[key].allowed for name, key in digests.items() if key in stored}


def _warn(machine: Machine, error: PiError) -> None:
    from pi.coding.consent import warn_of_file

    warn_of_file(error, lambda text: machine.report(f"Warning: {text}"))


def _store(machine: Machine) -> ConsentStore:
    from pi.coding.consent import ConsentStore

    return ConsentStore(machine.agent_dir / CONSENT, clock=machine.clock)


def _request(machine: Machine, name: str) -> ConsentRequest:
    from pi.coding.consent import ConsentRequest

    agent = AGENTS[name]
    folders = {paths[0].partition("/")[0] for paths in agent.user.values()}
    source = ", ".join(f"~/{folder}" for folder in sorted(folders))
    # No hash of the files: the user is asked only once, even if the files change later.
    definition = {"agent": name, "home": str(machine.home)}
    return ConsentRequest(kind=KIND, name=agent.title, source=source, definition=definition)
