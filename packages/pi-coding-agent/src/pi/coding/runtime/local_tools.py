"""Files, shell and search programs of a working directory, and the variables of its commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.files import expand_home
from pi.base.records import Record
from pi.coding.runtime.machine import Environment, Machine
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.runtime.tool_support import ToolSupport
from pi.coding.settings.settings import Settings
from pi.coding.shell.environment import (
    EnvironmentRules,
    command_environment,
    program_environment,
    service_environment,
    set_by_profiles,
)
from pi.coding.tools.registry import ToolWorkspace

if TYPE_CHECKING:  # lazy: see LocalTools
    from pi.coding.files.local import LocalFiles
    from pi.coding.shell.local import LocalShell, ShellOptions, UserCommands
    from pi.coding.tools.local_env import LocalEnv
    from pi.coding.tools.programs import SearchPrograms

WRAPPER = ("PI_SHELL_PREFIX", "CLAUDE_CODE_SHELL_PREFIX")
NO_LOGIN = ("PI_BASH_NO_LOGIN", "CLAUDE_BASH_NO_LOGIN")


class ShellEnvironment(Record):
    """``shell.env`` of the settings: additional variables for commands."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ShellValues(Record):
    """``shell`` of the settings."""

    wrapper: str = ""
    """Prefix of every command, such as a sandbox program."""
    login: bool = False
    """Whether the user's shell profile is read first."""


class LocalTools:
    """Files, shell and programs for tools and for commands of the user.

    Each part is imported and built on first use: a start runs no tool, and these parts would be a
    tenth of the code that it imports.
    """

    def __init__(
        self,
        cwd: Path,
        machine: Machine,
        settings: Settings,
        environment: Environment,
        session: ToolSupport,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._cwd = cwd
        self._machine = machine
        self._settings = settings
        self._environment = environment
        self._session = session
        self._variables = variables or {}
        """Additional variables for commands."""

    @cached_property
    def files(self) -> LocalFiles:
        """The files, relative to the working directory."""
        from pi.coding.files.local import LocalFiles

        return LocalFiles(
            lambda: self._cwd,
            home=str(self._machine.home),
            layers=self._session.extensions.file_layers,
            reads=self._session.extensions.file_reads,
            guards=self._session.extensions.read_guards,
        )

    @cached_property
    def shell(self) -> LocalShell:
        """The shell of the bash tool and of the user's commands."""
        from pi.coding.shell.local import LocalShell
        from pi.coding.shell.spill import SpillFolder

        spills = SpillFolder(
            self._machine.temp_dir,
            random_bytes=self._machine.random_bytes,
            clock=self._machine.clock,
            new_artifact=self._session.new_artifact,
        )
        return LocalShell(
            cwd=lambda: self._cwd,
            environ=self._command_environment,
            options=self._shell_options,
            spills=spills,
            spawn_wraps=self._session.extensions.spawn_wraps,
        )

    @cached_property
    def commands(self) -> UserCommands:
        """The commands of the user."""
        from pi.coding.shell.local import UserCommands

        return UserCommands(self.shell)

    @cached_property
    def programs(self) -> SearchPrograms:
        """The programs that search files."""
        from pi.coding.tools.programs import SearchPrograms

        return SearchPrograms(
            lambda: service_environment(self._environment.of_process),
            agent_bin=self._machine.agent_dir / "bin",
        )

    def place(self) -> ToolWorkspace:
        """Return the dependencies of built-in tools."""
        return ToolWorkspace(
            files=lambda: self.files,
            shell=lambda: self.shell,
            programs=lambda: self.programs,
            home=self._machine.home,
            image_limits=self._session.image_limits,
            session_variables=self._session.variables,
        )

    def rules(self) -> EnvironmentRules:
        """Return the rules for hiding variables from commands."""
        return environment_rules(self._settings, self._environment, self._session.secrets)

    @property
    def running_commands(self) -> int:
        """Number of running commands of the user."""
        return self.commands.running if "commands" in vars(self) else 0

    async def close(self) -> None:
        """Kill all processes of the shell."""
        if "shell" in vars(self):
            await self.shell.close()

    def _command_environment(self) -> Mapping[str, str]:
        return command_environment({**self._environment.values, **self._variables}, self.rules())

    def _shell_options(self) -> ShellOptions:
        from pi.coding.shell.local import ShellOptions

        values, environ = self._settings.values, self._environment.values
        more = self._settings.section(("shell",), ShellValues)
        login = more.login and not _first_of(environ, NO_LOGIN)
        runs_more = login or values.shell_command_prefix or environ.get("BASH_ENV")
        return ShellOptions(
            path=str(expand_home(values.shell_path)) if values.shell_path else "",
            prefix=values.shell_command_prefix,
            wrapper=more.wrapper or _first_of(environ, WRAPPER),
            login=login,
            unset=set_by_profiles(self.rules()) if runs_more else (),
        )


def local_env(cwd: Path, machine: Machine, settings: Settings) -> LocalEnv:
    """Return files and shell of a directory, as the tools of a session use them."""
    from pi.coding.tools.local_env import LocalEnv  # lazy: only for embedding programs

    session = ToolSupport(secrets=KnownSecrets.of(machine))
    tools = LocalTools(cwd, machine, settings, machine.environment, session)
    return LocalEnv(lambda: cwd, home=str(machine.home), shell=tools.shell)


def environment_rules(
    settings: Settings, environment: Environment, secrets: KnownSecrets | None
) -> EnvironmentRules:
    """Return the rules for hiding variables from commands: secrets, ``.env``, settings."""
    extra = settings.section(("shell", "env"), ShellEnvironment)
    names, values = secrets.names_and_values() if secrets else (frozenset[str](), ())
    return EnvironmentRules(
        credentials=names,
        secrets=frozenset(values),
        from_dotenv=environment.from_files,
        allow=extra.allow,
        deny=extra.deny,
    )


def environment_of_programs(machine: Machine, settings: Settings) -> dict[str, str]:
    """Return the variables for interactive programs, such as the editor."""
    rules = environment_rules(settings, machine.environment, KnownSecrets.of(machine))
    return program_environment(machine.environ, rules)


def _first_of(environ: Mapping[str, str], names: Sequence[str]) -> str:
    """Return the value of the first variable that is set, or ""."""
    return next((environ[name] for name in names if environ.get(name)), "")
