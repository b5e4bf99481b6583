"""``Machine``: environment, home, clock and ``.env`` files; created once at the start.

``.env`` files set variables for pi itself, not for its child processes, and never override
variables of the process. If several files define a name, the first wins: of the trusted project,
the agent directory, the config root, the home directory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import field

from pi.base.clock import Clock, RandomBytes, SystemClock
from pi.base.files import FileAccessError, agent_directory, config_root, expand_home, read_if_exists
from pi.base.libraries import use_library_folder
from pi.base.records import Record
from pi.coding.settings.files import ConfigFile
from pi.coding.settings.settings import Settings
from pi.coding.trust import Trust, TrustStore, nearest

NAME = ".env"
CONFIG_FILES = "PI_CONFIG_FILES"
"""Variable with settings files, separated like folders in ``PATH``."""

Warn: TypeAlias = Callable[[str], None]

_LINE = r"""(?xms)
    ^[ \t]* (?:export[ \t]+)? (?P<name>[A-Za-z_][A-Za-z0-9_]*) [ \t]*=[ \t]*
    (?: "(?P<double> (?:[^"\\]|\\.)* )" | '(?P<single> [^']* )' | (?P<plain> [^\n]*? ) )
    [ \t]* (?: (?<=[\s"'=]) \#[^\n]* )? $
    """
_ESCAPED = r"(?s)\\(.)"
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}


class Environment(Record):
    """The variables of pi; those of ``.env`` files are hidden from child processes."""

    values: Mapping[str, str]
    from_files: frozenset[str] = frozenset()
    """Names that only a ``.env`` file defines."""

    @property
    def of_process(self) -> dict[str, str]:
        """Return the variables with which the process was started."""
        return {name: value for name, value in self.values.items() if name not in self.from_files}

    def with_file(self, variables: Mapping[str, str]) -> Environment:
        """Return an environment with one more file, which overrides earlier files."""
        new = {
            name: value
            for name, value in variables.items()
            if name not in self.values or name in self.from_files
        }
        if not new:
            return self
        return Environment(values={**self.values, **new}, from_files=self.from_files | new.keys())


class CurrentVariables(Mapping[str, str]):
    """Variables that change when a session moves to another directory."""

    def __init__(self, current: Mapping[str, str]) -> None:
        self.current = current

    def __getitem__(self, name: str) -> str:
        return self.current[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.current)

    def __len__(self) -> int:
        return len(self.current)


def layered(process: Mapping[str, str], files: Sequence[Path], warn: Warn) -> Environment:
    """Merge the variables of the process with those of ``files``; earlier files win."""
    environment = Environment(values=process)
    for path in reversed(files):
        environment = environment.with_file(read_dotenv(path, warn))
    return environment


def read_dotenv(path: Path, warn: Warn) -> dict[str, str]:
    """Return the variables of a file; none if it is missing or unreadable."""
    try:
        # Some users have a Python environment in a folder named ``.env``.
        data = None if path.is_dir() else read_if_exists(path)
    except (FileAccessError, OSError) as error:
        warn(f"Warning: {path} was not read: {error}")
        return {}
    return parse_dotenv(data.decode("utf-8-sig", "replace")) if data else {}


def parse_dotenv(text: str) -> dict[str, str]:
    """Parse ``NAME=value`` lines, quoted or not; ``OMP_X`` also sets ``PI_X``.

    Variables are not expanded. In double quotes a backslash escapes; quoted values may span lines.
    Other lines are skipped.
    """
    variables = {
        line["name"]: _value(line) for line in re.finditer(_LINE, text.replace("\r\n", "\n"))
    }
    mirrored = {
        f"PI_{name.removeprefix('OMP_')}": value
        for name, value in variables.items()
        if name.startswith("OMP_")
    }
    return mirrored | variables


def _value(line: re.Match[str]) -> str:
    if line["double"] is not None:
        return re.sub(_ESCAPED, lambda escape: _MEANS.get(escape[1], escape[1]), line["double"])
    return line["single"] if line["single"] is not None else line["plain"]


def _ignore(text: str) -> None:
    """Discard a message."""


def _temporary(environ: Mapping[str, str]) -> Path:
    """Return the directory for temporary files; ``tempfile`` finds the same one, but is slower."""
    named = (environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return next((Path(name) for name in named if name and Path(name).is_dir()), Path("/tmp"))


def _documentation(environ: Mapping[str, str]) -> Path:
    """Return the documentation directory of the environment, the package or the checkout."""
    if named := environ.get("PI_PACKAGE_DIR"):
        return expand_home(named) / "docs"
    # In an installation they are beside the packages of pi, in a checkout at its root.
    candidates = [folder / "docs" for folder in Path(__file__).parents[2:7]]
    return next((folder for folder in candidates if folder.is_dir()), candidates[0])


class Machine(Record):
    """Environment, directories and clock that all sessions of a process share. Immutable."""

    environ: Mapping[str, str]
    """Environment variables, including the user's own ``.env`` files."""
    home: Path
    agent_dir: Path
    temp_dir: Path
    from_dotenv: frozenset[str] = frozenset()
    """Names of ``environ`` that only a ``.env`` file defines; child processes do not see them."""
    clock: Clock = field(default_factory=SystemClock)
    random_bytes: RandomBytes = os.urandom
    report: Callable[[str], None] = _ignore
    """Called with one-line warnings and notices for the user."""
    import_path: tuple[str, ...] | None = None
    """Folders that are searched for installed extensions; ``None`` means ``sys.path``."""
    docs: Path = field(default_factory=lambda: _documentation({}))
    """The directory of pi's documentation."""

    @classmethod
    def from_environ(
        cls,
        environ: Mapping[str, str],
        *,
        agent_dir: Path | None = None,
        clock: Clock | None = None,
        report: Callable[[str], None] = _ignore,
    ) -> Machine:
        """Return the machine for environment variables, with the user's ``.env`` files."""
        use_library_folder(environ)
        home = Path(environ.get("HOME") or Path.home())
        agent_dir = agent_dir or agent_directory(environ)
        folders = (agent_dir, config_root(environ), home)
        files = [folder / NAME for folder in folders]
        environment = layered(environ, files, report)
        return cls(
            environ=environment.values,
            home=home,
            agent_dir=agent_dir,
            temp_dir=_temporary(environ),
            from_dotenv=environment.from_files,
            clock=clock or SystemClock(),
            report=report,
            docs=_documentation(environ),
        )

    @property
    def environment(self) -> Environment:
        """The variables, with the names of those that come from ``.env`` files."""
        return Environment(values=self.environ, from_files=self.from_dotenv)

    @property
    def offline(self) -> bool:
        """Whether automatic network requests are disabled, such as checks for updates."""
        return flag(self.environ, "PI_OFFLINE")


def flag(environ: Mapping[str, str], name: str) -> bool:
    """Whether a variable is set to a true value."""
    return environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def stored_trust(machine: Machine, cwd: Path) -> Trust:
    """Return the stored trust decision for a project, without asking the user."""
    decisions = TrustStore(machine.agent_dir / "trust.json", clock=machine.clock).decisions()
    # A file that cannot be read trusts nothing; the caller reports it when it reads settings.
    settings = Settings.of(
        machine.agent_dir,
        cwd,
        clock=machine.clock,
        overlays=config_files(machine),
        unreadable="strictest",
    )
    own = settings.values
    always, decision = own.default_project_trust == "always", nearest(decisions, cwd)
    trusted = always if decision is None else decision
    return Trust(
        trusted=trusted, source="stored", decisions=decisions, by_default=trusted and always
    )


def settings_here(machine: Machine, cwd: Path, trust: Trust | None = None) -> Settings:
    """Return the settings of the user and of a trusted project. Raises ``BadSettings``."""
    trust = trust or stored_trust(machine, cwd)
    return Settings.of(
        machine.agent_dir,
        cwd,
        trusted=trust.trusted,
        clock=machine.clock,
        overlays=config_files(machine),
    )


def config_files(machine: Machine, named: Sequence[str] = ()) -> tuple[ConfigFile, ...]:
    """Return the files of ``PI_CONFIG_FILES``, then those of ``--config``: later ones win."""
    listed = filter(None, machine.environ.get(CONFIG_FILES, "").split(os.pathsep))
    # An empty name of ``--config`` is an error: a variable of a script may be unset.
    paths = (expand_home(name, strict=False) for name in (*listed, *named))
    return tuple(ConfigFile(path, must_exist=True) for path in paths)
