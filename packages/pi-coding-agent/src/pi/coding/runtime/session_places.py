"""Session directories, from environment and settings."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.clock import IdFactory
from pi.base.files import expand_home
from pi.coding.blobs.store import BlobOptions, BlobStore
from pi.coding.runtime.machine import Machine, settings_here
from pi.coding.session.opening import SessionLocation
from pi.coding.session.writing import session_directory
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # lazy: a new session needs no catalogue
    from pi.coding.session.catalog import SessionCatalog

log = logging.getLogger(__name__)


def session_location(
    cwd: Path | str | None = None,
    agent_dir: Path | str | None = None,
    *,
    session_dir: Path | str | None = None,
    settings: Settings | None = None,
) -> SessionLocation:
    """Return where the sessions of a directory are stored.

    ``session_dir`` overrides ``PI_CODING_AGENT_SESSION_DIR``, which overrides the settings. Project
    settings apply if the user has trusted the project.
    """
    directory, machine = working_directory(cwd), machine_for(agent_dir)
    settings = settings or settings_here(machine, directory)
    return location_for(
        machine, directory, settings, _custom(machine, directory, session_dir, settings)
    )


def session_catalog(
    agent_dir: Path | str | None = None,
    *,
    cwd: Path | str | None = None,
    session_dir: Path | str | None = None,
    settings: Settings | None = None,
) -> SessionCatalog:
    """Return the catalogue of all sessions; ``cwd`` is the project whose settings apply."""
    from pi.coding.session.catalog import SessionCatalog

    directory, machine = working_directory(cwd), machine_for(agent_dir)
    settings = settings or settings_here(machine, directory)
    custom = _custom(machine, directory, session_dir, settings)
    return SessionCatalog(machine.agent_dir, custom=custom)


def location_for(
    machine: Machine, cwd: Path, settings: Settings, custom: Path | None
) -> SessionLocation:
    """Return the session location of ``cwd`` below the agent directory, or in ``custom``."""
    options = settings.section(("blobs",), BlobOptions)
    return SessionLocation(
        directory=session_directory(machine.agent_dir, str(cwd), custom=custom),
        cwd=str(cwd),
        report=machine.report,
        stamps=IdFactory(machine.clock, machine.random_bytes),
        blobs=BlobStore(machine.agent_dir / "blobs"),
        externalize_images=options.externalize_images,
        indexes=machine.agent_dir / "cache" / "session-indexes",
    )


def session_dir_from_environ(
    machine: Machine, cwd: Path, override: str | None = None
) -> Path | None:
    """Return the session directory ``override``, or the one of the environment, or ``None``."""
    named = override or machine.environ.get("PI_CODING_AGENT_SESSION_DIR")
    return cwd / expand_home(named) if named else None


def session_dir_from_settings(settings: Settings, cwd: Path) -> Path | None:
    """Return the session directory of the settings, or ``None``."""
    listed = settings.values.session_dir
    return cwd / expand_home(listed) if listed else None


def working_directory(cwd: Path | str | None) -> Path:
    """Return the working directory for an SDK argument; ``None`` is the current one."""
    return expand_home(cwd or ".").absolute()


def machine_for(agent_dir: Path | str | None) -> Machine:
    """Return the machine for an SDK argument; ``None`` is the user's own agent directory."""
    folder = None if agent_dir is None else expand_home(agent_dir).absolute()
    return Machine.from_environ(dict(os.environ), agent_dir=folder, report=log.warning)


def _custom(
    machine: Machine, cwd: Path, session_dir: Path | str | None, settings: Settings
) -> Path | None:
    if session_dir is not None:
        return cwd / expand_home(session_dir)
    return session_dir_from_environ(machine, cwd) or session_dir_from_settings(settings, cwd)
