"""``Workspace``: settings, environment, resources and tools of a working directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pi.ai.messages import Json
from pi.base.records import Record, replace
from pi.base.tasks import TaskScope
from pi.coding.blobs.store import BlobStore
from pi.coding.compaction.options import check_tokens
from pi.coding.extension_host.discovery.manifest import ActivationState
from pi.coding.resources.discovery import (
    ResourceLists,
    Resources,
    ResourceSearch,
    SkillNames,
    discover,
)
from pi.coding.resources.sources import Place
from pi.coding.runtime.agent_offer import agent_use, switched_off
from pi.coding.runtime.local_tools import LocalTools
from pi.coding.runtime.machine import NAME as DOTENV
from pi.coding.runtime.machine import Environment, Machine, config_files, read_dotenv
from pi.coding.runtime.options import SessionOptions
from pi.coding.runtime.tool_support import BashValues, ToolSupport
from pi.coding.settings.files import BadSettings, SettingsFile
from pi.coding.settings.settings import Settings
from pi.coding.shell.environment import command_environment, program_environment
from pi.coding.shell.jobs import SessionJobs
from pi.coding.tools.registry import BuiltIn, built_in_tools
from pi.coding.trust import CONTEXT_FILES, Trust, gated_in, needing_trust

if TYPE_CHECKING:  # lazy: most sessions do not need them
    from pi.coding.files.local import LocalFiles
    from pi.coding.packages.discovery import Package
    from pi.coding.resources.kinds import Where
    from pi.coding.runtime.packages_here import SessionPackages
    from pi.coding.session.log import SessionLog
    from pi.coding.shell.local import ShellSetup


MAX_REPORTED = 20
"""Most warnings that one start shows; a folder may hold thousands of files that are not skills."""


Gates: TypeAlias = Callable[[Settings], tuple[str, ...]]
"""Returns the names of project files that enabled extensions read."""


class Workspace(Record):
    """One working directory, as a session uses it."""

    cwd: Path
    machine: Machine
    trust: Trust
    settings: Settings
    environment: Environment
    """The variables of pi, including the ``.env`` file of a trusted project."""
    packages: tuple[Package, ...] = ()
    """Installed packages; none of their code has run."""
    resources: Resources
    local: LocalTools
    """Files, shell and search programs."""
    jobs: TaskScope
    """Tasks of background jobs."""
    shell_jobs: SessionJobs
    session_variables: Callable[[], Mapping[str, str]]
    """Returns the variables that describe the session to commands of the bash tool."""
    tools: Mapping[str, BuiltIn]
    gates: Gates
    """Returns names of files that need trust because an enabled extension reads them."""

    def activation_state(
        self, log: SessionLog | None = None, shared: frozenset[str] = frozenset()
    ) -> ActivationState:
        """Return the state on which triggers of extensions depend."""
        return ActivationState(
            cwd=self.cwd,
            home=self.machine.home,
            agent_dir=self.machine.agent_dir,
            environ=self.environ,
            settings=self.settings.raw,
            entry_types=() if log is None else log.custom_types(),
            shared=shared,
            uses_project=lambda: self.is_trusted,
        )

    def command_environment(self) -> dict[str, str]:
        """Return the variables for commands of the user and of the model."""
        values = {**self.environment.values, **self.resources.variables}
        return command_environment(values, self.local.rules())

    def shell_setup(self) -> ShellSetup:
        """Return the program, variables and prefix of the bash tool. Raises ``NoShell``."""
        return self.local.shell.setup(self.session_variables())

    def program_environment(self) -> dict[str, str]:
        """Return the variables for interactive programs, such as the editor."""
        return program_environment(self.environment.values, self.local.rules())

    @property
    def is_trusted(self) -> bool:
        """Whether the project is trusted, or has no files that need trust."""
        if self.trust.source == "nothing to trust":
            # Checked now, not when trust was decided: files may have been added since.
            return not needing_trust(
                self.cwd,
                home=self.machine.home,
                gates=self.gates(self.settings),
                use=switched_off(self.settings),
            )
        return self.trust.trusted

    @property
    def where(self) -> Where:
        """The directories that are searched for resources, with their trust."""
        from pi.coding.resources.kinds import Where  # lazy: for extensions only

        return Where(
            cwd=self.cwd,
            home=self.machine.home,
            agent_dir=self.machine.agent_dir,
            trusts=self.trust.trusts,
            use=agent_use(self.machine, self.settings),
        )

    @property
    def files(self) -> LocalFiles:
        """The files of the directory, as tools use them."""
        return self.local.files

    @property
    def blobs(self) -> BlobStore:
        """Content-addressed bytes, shared by all sessions."""
        return BlobStore(self.machine.agent_dir / "blobs")

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables of pi."""
        return self.environment.values

    @property
    def user_environ(self) -> Mapping[str, str]:
        """``environ`` without the ``.env`` file of the project."""
        return self.machine.environ

    async def close(self) -> None:
        """Kill background jobs."""
        await self.jobs.close()
        await self.local.close()


async def open_workspace(
    cwd: Path,
    machine: Machine,
    options: SessionOptions,
    trust: Trust,
    *,
    session: ToolSupport,
    settings: Settings,
    with_project: bool = True,
    recommended: Callable[[], Json] = dict,
    gates: Gates = lambda settings: (),
) -> Workspace:
    """Open a directory and read the files that ``trust`` allows, which must be a new decision.

    ``settings`` are those of the user; ``with_project`` adds those of a trusted project.
    ``recommended`` returns those of the recommended batteries.
    """
    settings.recommend(recommended)
    environment = machine.environment
    if trust.trusted:
        environment = environment.with_file(read_dotenv(cwd / DOTENV, machine.report))
    if trust.trusted and with_project:
        settings.trust_project(SettingsFile(cwd / ".pi" / "settings.json", clock=machine.clock))
    settings.on_warning(lambda text: machine.report(f"Warning: {text}"))
    check_tokens(settings.raw.get("compaction"))
    session_packages = packages_here(cwd, machine, settings, options)
    if session_packages is not None:
        await session_packages.fetch()
    packages, resources = discover_resources(
        cwd, machine, options, trust, settings, session_packages
    )
    local = LocalTools(cwd, machine, settings, environment, session, resources.variables)
    jobs = TaskScope()
    return Workspace(
        cwd=cwd,
        machine=machine,
        trust=trust,
        settings=settings,
        environment=environment,
        packages=packages,
        resources=resources,
        local=local,
        jobs=jobs,
        shell_jobs=SessionJobs(jobs),
        session_variables=session.variables,
        tools=_tools(local, settings),
        gates=gates,
    )


def own_settings(
    machine: Machine, options: SessionOptions, overrides: Json | None = None
) -> Settings:
    """Return the user's settings, without those of a project. Raises ``BadSettings``."""
    own = SettingsFile(machine.agent_dir / "settings.json", clock=machine.clock)
    settings = Settings(
        own,
        overrides=options.settings if overrides is None else overrides,
        overlays=config_files(machine, options.config_files),
        unreadable=options.unreadable_settings,
    )
    settings.load()
    return settings


def _tools(local: LocalTools, settings: Settings) -> Mapping[str, BuiltIn]:
    tools = built_in_tools(local.place())
    if not settings.section(("bash",), BashValues).enabled:
        del tools["bash"]
    return tools


def reread(
    workspace: Workspace,
    options: SessionOptions,
    *,
    skills: tuple[Place, ...] = (),
    prompts: tuple[Place, ...] = (),
) -> Workspace:
    """Return the same directory with current settings, skills, templates and context files.

    ``skills`` and ``prompts`` are additional search paths. The trust decision is kept, and
    background jobs keep running.
    """
    try:
        workspace.settings.load()
    except BadSettings as error:  # the settings stay as they were
        workspace.machine.report(f"Warning: {error.message}")
    packages, resources = discover_resources(
        workspace.cwd,
        workspace.machine,
        options,
        workspace.trust,
        workspace.settings,
        packages_here(workspace.cwd, workspace.machine, workspace.settings, options),
        skills=skills,
        prompts=prompts,
    )
    return replace(workspace, packages=packages, resources=resources)


def discover_resources(
    cwd: Path,
    machine: Machine,
    options: SessionOptions,
    trust: Trust,
    settings: Settings,
    session_packages: SessionPackages | None,
    *,
    skills: tuple[Place, ...] = (),
    prompts: tuple[Place, ...] = (),
) -> tuple[tuple[Package, ...], Resources]:
    """Discover packages and resources, and report warnings.

    ``skills`` and ``prompts`` are searched after those of packages.
    """
    packages, warnings = ((), ()) if session_packages is None else session_packages.find()
    search = replace(
        _resource_search(cwd, machine, trust, settings),
        extra=tuple(place for package in packages for place in package.places("skills")) + skills,
        extra_prompts=tuple(x for package in packages for x in package.places("prompts")) + prompts,
    )
    discovered = discover(options.resources, search)
    resources = replace(discovered, warnings=warnings + discovered.warnings)
    for warning in resources.warnings[:MAX_REPORTED]:
        machine.report(f"Warning: {warning}")
    if (more := len(resources.warnings) - MAX_REPORTED) > 0:
        machine.report(f"Warning: {more:,} more files could not be used.")
    return packages, resources


def packages_here(
    cwd: Path, machine: Machine, settings: Settings, options: SessionOptions
) -> SessionPackages | None:
    """Return the packages of a session; ``None`` if neither settings nor command line name any."""
    named = any(settings.layer(scope, ("packages",)) for scope in ("project", "user"))
    if not named and not options.extensions.paths:
        return None
    from pi.coding.runtime.packages_here import SessionPackages

    return SessionPackages(cwd, machine, settings, options)


def _resource_search(
    cwd: Path, machine: Machine, trust: Trust, settings: Settings
) -> ResourceSearch:
    def lists(scope: str, base: Path) -> ResourceLists:
        settings_lists = {name: settings.layer(scope, (name,)) for name in ("skills", "prompts")}
        texts = {
            name: tuple(entry for entry in value if isinstance(entry, str))
            for name, value in settings_lists.items()
            if isinstance(value, list)
        }
        return ResourceLists(base=base, **texts)

    values = settings.values
    rulebook = settings.raw.get("rulebook")
    return ResourceSearch(
        cwd=cwd,
        agent_dir=machine.agent_dir,
        home=machine.home,
        trusted=trust.trusted,
        trusts=trust.trusts,
        user=lists("user", machine.agent_dir),
        project=lists("project", cwd / ".pi"),
        names=SkillNames(include=values.include_skills, ignore=values.ignored_skills),
        use=agent_use(machine, settings),
        rulebook=isinstance(rulebook, dict) and rulebook.get("enabled") is True,
    )


def skipped_files(workspace: Workspace, options: SessionOptions) -> tuple[Path, ...]:
    """Return the files of a project that are not read because it is not trusted."""
    trust, machine, cwd = workspace.trust, workspace.machine, workspace.cwd
    gated = gated_in(
        cwd,
        home=machine.home,
        gates=workspace.gates(workspace.settings),
        use=switched_off(workspace.settings),
    )

    def is_closed(path: Path) -> bool:
        # Files of directories above the project have their own trust decisions.
        owner = next(folder for folder in (cwd, *cwd.parents) if path.is_relative_to(folder))
        return not (trust.trusted if owner == cwd else trust.trusts(owner))

    context = [path for path in gated if path.name in CONTEXT_FILES]
    closed = [path for path in gated if path not in context and is_closed(path)]
    if not options.resources.context_files:
        return tuple(closed)
    # The user's own files are always read.
    unread = (path for path in context if path.parent != machine.agent_dir and is_closed(path))
    return (*unread, *closed)
