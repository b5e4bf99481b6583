"""Discovery, one piece at a time, for programs that want to change a part of what is found.

All of it reads files and blocks meanwhile. ``None`` stands for the current directory and for the
person's own agent directory. Of a project nothing is read unless it is said to be ``trusted``.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pi.agent.skills import Skill
from pi.ai.auth.storage import AuthStorage
from pi.base.files import expand_home
from pi.coding.models.registry import ModelRegistry
from pi.coding.resources.context_files import ContextFile
from pi.coding.resources.discovery import Lists, Resources, Surroundings, Wanted, discover
from pi.coding.resources.prompts import PromptTemplate
from pi.coding.runtime import asking
from pi.coding.runtime.host import Host
from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.naming import session_directory
from pi.coding.session.opening import Shelf

log = logging.getLogger(__name__)


def discover_auth_storage(agent_dir: Path | str | None = None) -> AuthStorage:
    """The person's credentials."""
    return AuthStorage(_host(agent_dir).agent_dir / "auth.json")


def discover_models(
    cwd: Path | str | None = None,
    agent_dir: Path | str | None = None,
    *,
    auth_storage: AuthStorage | None = None,
) -> ModelRegistry:
    """Every model that files and environment give access to; close its ``models`` when done."""
    return asking.discover_models(_host(agent_dir), _cwd(cwd), storage=auth_storage)


def discover_context_files(
    cwd: Path | str | None = None, agent_dir: Path | str | None = None, *, trusted: bool = False
) -> tuple[ContextFile, ...]:
    """AGENTS.md and its kin, from the most general to the nearest."""
    wanted = Wanted(skills=False, prompts=False)
    return _found(wanted, cwd, agent_dir, trusted=trusted).context.files


def discover_skills(
    cwd: Path | str | None = None, agent_dir: Path | str | None = None, *, trusted: bool = False
) -> tuple[Skill, ...]:
    """The skills of the person and, if it is trusted, of the project."""
    wanted = Wanted(context_files=False, prompts=False)
    found = _found(wanted, cwd, agent_dir, trusted=trusted).skills
    return tuple(each.skill for each in found)


def discover_prompt_templates(
    cwd: Path | str | None = None, agent_dir: Path | str | None = None, *, trusted: bool = False
) -> tuple[PromptTemplate, ...]:
    """The prompt templates of the person and, if it is trusted, of the project."""
    wanted = Wanted(context_files=False, skills=False)
    return _found(wanted, cwd, agent_dir, trusted=trusted).prompts


def session_shelf(cwd: Path | str | None = None, agent_dir: Path | str | None = None) -> Shelf:
    """Where the sessions of a directory are kept, for the methods of ``SessionManager``."""
    here, host = _cwd(cwd), _host(agent_dir)
    custom = wanted_session_dir(host, here)
    directory = session_directory(host.agent_dir, str(here), custom=custom)
    return Shelf(directory=directory, cwd=str(here), report=log.warning)


def session_catalog(agent_dir: Path | str | None = None) -> SessionCatalog:
    """The list of all sessions."""
    host = _host(agent_dir)
    return SessionCatalog(host.agent_dir, custom=wanted_session_dir(host, _cwd(None)))


def wanted_session_dir(host: Host, cwd: Path) -> Path | None:
    """The directory of sessions that the environment names."""
    named = host.environ.get("PI_CODING_AGENT_SESSION_DIR")
    return cwd / expand_home(named) if named else None


# --------------------------------------------------------------------------------------------------


def _cwd(given: Path | str | None) -> Path:
    return expand_home(given or ".").absolute()


def _host(agent_dir: Path | str | None) -> Host:
    place = None if agent_dir is None else expand_home(agent_dir).absolute()
    return Host.of(dict(os.environ), agent_dir=place, report=log.warning)


def _found(
    wanted: Wanted, cwd: Path | str | None, agent_dir: Path | str | None, *, trusted: bool
) -> Resources:
    here, host = _cwd(cwd), _host(agent_dir)
    where = Surroundings(
        cwd=here,
        agent_dir=host.agent_dir,
        home=host.home,
        trusted=trusted,
        trusts=lambda directory: trusted,
        user=Lists(base=host.agent_dir),
        project=Lists(base=here / ".pi"),
    )
    resources = discover(wanted, where)
    for warning in resources.warnings:
        log.warning("%s", warning)
    return resources
