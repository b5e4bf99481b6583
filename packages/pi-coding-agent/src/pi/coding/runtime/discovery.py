"""SDK functions that discover one kind of resource, for programs that replace a part of them.

All functions read files and block. ``None`` means the current directory, the user's agent
directory, the settings files, and the stored trust decision. Project files are read only if the
project is ``trusted``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi.agent.skills import Skill
from pi.ai.auth.storage import AuthStorage
from pi.coding.models.registry import ModelRegistry
from pi.coding.resources.discovery import ResourceOptions, Resources
from pi.coding.resources.instructions import ContextFile
from pi.coding.resources.prompts import PromptTemplate
from pi.coding.runtime import models
from pi.coding.runtime.local_tools import local_env
from pi.coding.runtime.machine import settings_here, stored_trust
from pi.coding.runtime.options import SessionOptions
from pi.coding.runtime.session_places import machine_for, working_directory
from pi.coding.runtime.workspace import discover_resources, packages_here
from pi.coding.settings.settings import Settings
from pi.coding.trust import Trust

if TYPE_CHECKING:
    from pi.coding.tools.local_env import LocalEnv


def discover_auth_storage(agent_dir: Path | str | None = None) -> AuthStorage:
    """Return the user's credentials."""
    return AuthStorage(machine_for(agent_dir).agent_dir / "auth.json")


def discover_models(
    cwd: Path | str | None = None,
    agent_dir: Path | str | None = None,
    *,
    auth_storage: AuthStorage | None = None,
    settings: Settings | None = None,
) -> ModelRegistry:
    """Return the models of files and environment. The caller closes ``models`` of the result."""
    return models.discover_models(
        machine_for(agent_dir),
        working_directory(cwd),
        values=settings.values if settings else None,
        storage=auth_storage,
    )


def discover_context_files(
    cwd: Path | str | None = None,
    agent_dir: Path | str | None = None,
    *,
    trusted: bool | None = None,
) -> tuple[ContextFile, ...]:
    """Return AGENTS.md and similar files, from the most general to the nearest."""
    options = ResourceOptions(skills=False, prompts=False)
    return _discover(options, cwd, agent_dir, None, trusted=trusted).context.files


def discover_skills(
    cwd: Path | str | None = None,
    agent_dir: Path | str | None = None,
    *,
    settings: Settings | None = None,
    trusted: bool | None = None,
) -> tuple[Skill, ...]:
    """Return the skills of the user, of packages and of a trusted project."""
    options = ResourceOptions(context_files=False, prompts=False)
    found_skills = _discover(options, cwd, agent_dir, settings, trusted=trusted).skills
    return tuple(found_skill.skill for found_skill in found_skills)


def discover_prompt_templates(
    cwd: Path | str | None = None,
    agent_dir: Path | str | None = None,
    *,
    settings: Settings | None = None,
    trusted: bool | None = None,
) -> tuple[PromptTemplate, ...]:
    """Return the prompt templates of the user, of packages and of a trusted project."""
    options = ResourceOptions(context_files=False, skills=False)
    return _discover(options, cwd, agent_dir, settings, trusted=trusted).prompts


def local_environment(
    cwd: Path | str | None = None,
    agent_dir: Path | str | None = None,
    *,
    settings: Settings | None = None,
) -> LocalEnv:
    """Return files and shell of this machine for custom tools: an ``ExecutionEnv``.

    Commands run as in a session: in the shell of the settings, without credentials in their
    environment. The caller closes it.
    """
    directory, machine = working_directory(cwd), machine_for(agent_dir)
    return local_env(directory, machine, settings or settings_here(machine, directory))


def _discover(
    options: ResourceOptions,
    cwd: Path | str | None,
    agent_dir: Path | str | None,
    settings: Settings | None,
    *,
    trusted: bool | None,
) -> Resources:
    directory, machine = working_directory(cwd), machine_for(agent_dir)
    explicit = None if trusted is None else Trust(trusted=trusted, source="flag")
    trust = explicit or stored_trust(machine, directory)
    settings = settings or settings_here(machine, directory, trust)
    session = SessionOptions(resources=options)
    packages = packages_here(directory, machine, settings, session)
    _, resources = discover_resources(directory, machine, session, trust, settings, packages)
    return resources
