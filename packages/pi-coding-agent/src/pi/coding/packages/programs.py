"""Runs git, npm and pip without prompts and without executing code of packages.

Requirements are names and versions of PEP 508 only: pip would also accept a path, a URL or a
repository, and run the code of its build.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pi.base.processes import Finished, SpawnFailed, run
from pi.base.processes.git import git_command
from pi.base.processes.pip import has_pip, pip_command, pip_environment, refusal_in
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.packages.source import InstallFailed, without_password
from pi.coding.shell.environment import UNATTENDED, service_environment

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_EXTRAS = rf"\[\s*(?:{_NAME}(?:\s*,\s*{_NAME})*)?\s*\]"
_REQUIREMENT_VERSION = r"(?:===|~=|==|!=|<=|>=|<|>)\s*[\w.*+!-]+"
_VERSIONS = rf"{_REQUIREMENT_VERSION}(?:\s*,\s*{_REQUIREMENT_VERSION})*"
_MARKER = r";[\w\s.'\"()<>=!~,*+-]*"
# Not compiled: most starts read no requirement. Possessive: 1,000 spaces would take minutes.
_REQUIREMENT = (
    rf"(?a)\s*+(?P<name>{_NAME})\s*+(?:{_EXTRAS})?\s*+"
    rf"(?:{_VERSIONS}|\(\s*{_VERSIONS}\s*\))?\s*+(?:{_MARKER})?"
)
_MAX_REQUIREMENT = 1000
_SHOWN = 200


def require_index_name(requirement: object, package: str) -> str:
    """Return ``requirement`` if it is a name with versions. Raises ``InstallFailed`` otherwise."""
    if not isinstance(requirement, str):
        raise InstallFailed(f"{package} requires {requirement!r}, which is not text.")
    if len(requirement) > _MAX_REQUIREMENT or not re.fullmatch(_REQUIREMENT, requirement):
        raise not_from_an_index(requirement, package)
    return requirement


def requirement_name(requirement: str) -> str:
    """Return the name at the beginning of a requirement; empty if there is none."""
    match = re.match(rf"(?a)\s*({_NAME})", requirement)
    return match[1] if match else ""


def not_from_an_index(requirement: str, package: str) -> InstallFailed:
    """Return the error for a path, a URL or a repository that ``package`` requires."""
    return InstallFailed(
        f'{one_line(package)} requires "{without_password(requirement)[:_SHOWN]}", which is not a'
        " name and version of a package index; nothing was installed.",
        hint="Only named packages of an index are installed: building anything else runs its code.",
    )


TIMEOUT_SECONDS = 900.0
"""Enough for a large repository over a slow connection."""
STALL_SECONDS = 60.0
"""Time without I/O and CPU use after which a program is considered hung."""
READ_SECONDS = 20.0
"""Timeout of git commands that only read a repository on this machine."""
_READS = ("rev-parse", "cat-file", "merge-base")
MAX_OUTPUT_BYTES = 4_000_000
_MAX_REASON = 300
"""Maximum characters of a program's error output in a message."""

_GIT_SAFE = ("-c", "core.askPass=", "-c", "protocol.ext.allow=never")
_SSH = "ssh -o BatchMode=yes"
_NPM_SAFE = (
    *("--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"),
    # Peer dependencies are pi itself: installing them would install the original.
    "--legacy-peer-deps",
    # Repositories are built by another npm, which uses the .npmrc in them. npm before 11 does not
    # have this option; _NPM_GUARD covers those versions.
    "--allow-git=none",
)
_NPM_REFUSED = re.compile(r'Refusing to fetch "([^"\n]+)"')
_NPM_GUARD = Path(__file__).with_name("npm_guard.cjs")
_PIP_CRASHED = "Exception:"
"""pip's line before a traceback, the last line of which is the reason."""
_REASON = re.compile(r"^(?:npm (?:error|ERR!)|fatal:|ERROR:|error:)\s*", re.IGNORECASE)


class Programs(Record):
    """The installers git, npm and pip."""

    environ: Mapping[str, str]
    """pi's own environment; programs get an allow-listed part of it."""
    npm_command: tuple[str, ...] = ("npm",)
    offline: bool = False

    async def git(self, *arguments: str, cwd: Path) -> str:
        """Run git and return its output. Raises ``InstallFailed`` with its error output."""
        return _output("git", arguments[0], await self._git(arguments, cwd))

    async def git_agrees(self, *arguments: str, cwd: Path, objects: Path | None = None) -> bool:
        """Whether git exits with code 0. ``objects`` is the object folder of another repository.

        Raises ``InstallFailed`` if git crashed or timed out.
        """
        finished = await self._git(arguments, cwd, objects)
        if finished.flooded or finished.stalled or finished.timed_out or finished.signal:
            _output("git", arguments[0], finished)
        return finished.ok

    async def npm(self, *arguments: str, cwd: Path, package: str) -> str:
        """Run npm without package scripts and return its output.

        ``package`` is named in the error if it requires a repository.
        """
        own = self._own(r"NPM_CONFIG_.*") | {"NODE_OPTIONS": f"--require {_quote(_NPM_GUARD)}"}
        offline = ["--offline"] if self.offline else []
        finished = await self._run(
            [*self.npm_command, arguments[0], *_NPM_SAFE, *offline, *arguments[1:]], cwd, own
        )
        refused = None if finished.ok else _NPM_REFUSED.search(_texts(finished)[1])
        if refused is not None:
            raise not_from_an_index(refused[1], package)
        return _output("npm", arguments[0], finished)

    async def pip(
        self, *arguments: str, cwd: Path, package: str, present: Path | None = None
    ) -> str:
        """Run pip with wheels only and return its output: anything else would have to be built.

        ``package`` is named in the error if it requires something else. The distributions in the
        folder ``present`` count as installed.
        """
        if not has_pip():
            raise InstallFailed(
                "pip is not installed in this Python; packages of the Python index need it.",
                hint=f"Run `{sys.executable} -m ensurepip` first.",
            )
        env = pip_environment(self.environ) | {
            "PIP_REQUIRE_VIRTUALENV": "0",
            "PIP_USER": "0",  # cannot be combined with --target
        }
        if present is not None:
            folders = [str(present), *filter(None, [env.get("PYTHONPATH")])]
            env["PYTHONPATH"] = os.pathsep.join(folders)
        offline = ["--no-index"] if self.offline else []
        finished = await self._run(pip_command([arguments[0], *offline, *arguments[1:]]), cwd, env)
        refusal = None if finished.ok else refusal_in(*_texts(finished))
        if refusal is not None:
            raise not_from_an_index(refusal.requirement, refusal.required_by or package)
        return _output("pip", arguments[0], finished)

    def needs_network(self, what: str) -> None:
        """Raise ``InstallFailed`` if pi is offline."""
        if self.offline:
            raise InstallFailed(
                f"{what} has to be fetched, and pi is offline.",
                hint="Leave out --offline and PI_OFFLINE, or install it from a folder.",
            )

    async def _git(
        self, arguments: Sequence[str], cwd: Path, objects: Path | None = None
    ) -> Finished:
        more = UNATTENDED | {"GIT_SSH_COMMAND": _SSH} | self._own(r"SSH_AUTH_SOCK")
        # The configuration of an untrusted repository above could name programs
        # (credential.helper, core.gitProxy); so could a remote that lazily serves objects. Not
        # GIT_CEILING_DIRECTORIES: it has no effect if a folder has a colon in its name.
        more |= {"GIT_DIR": str(cwd / ".git"), "GIT_NO_LAZY_FETCH": "1"}
        if objects is not None:
            more["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = _quote(objects)
        timeout = READ_SECONDS if arguments[0] in _READS else TIMEOUT_SECONDS
        return await self._run(git_command(arguments, options=_GIT_SAFE), cwd, more, timeout)

    def _own(self, names: str) -> dict[str, str]:
        """Return the variables whose names match."""
        pattern = re.compile(names, re.IGNORECASE)
        return {name: value for name, value in self.environ.items() if pattern.fullmatch(name)}

    async def _run(
        self,
        command: Sequence[str],
        cwd: Path,
        more: Mapping[str, str],
        timeout: float = TIMEOUT_SECONDS,
    ) -> Finished:
        env = {**service_environment(self.environ), **more}
        program = shutil.which(command[0], path=env.get("PATH"))
        if program is None:
            raise _no_program(command[0])
        try:
            return await run(
                [program, *command[1:]],
                cwd=cwd,
                env=env,
                timeout=timeout,
                stall=STALL_SECONDS,
                max_output=MAX_OUTPUT_BYTES,
            )
        except SpawnFailed as error:
            raise InstallFailed(error.message, hint=error.hint) from error


def _quote(path: Path) -> str:
    """Quote a path for NODE_OPTIONS, which splits at spaces, and git, which splits at colons."""
    return '"{}"'.format(str(path).replace("\\", "\\\\").replace('"', '\\"'))


def _no_program(name: str) -> InstallFailed:
    if name == "git":
        return InstallFailed("git was not found; packages from repositories need it.")
    return InstallFailed(
        f"{name} was not found; packages of npm need it.",
        hint="Install Node.js, or set `npmCommand` in the settings.",
    )


def _output(program: str, doing: str, finished: Finished) -> str:
    if finished.flooded:
        raise InstallFailed(
            f"{program} {doing} wrote output without end and was stopped.",
            hint=f"Nothing was changed. Run `{program} --version` to see whether it works.",
        )
    if finished.ok:
        return finished.output.decode("utf-8", "replace")
    if finished.stalled:
        raise InstallFailed(
            f"{program} {doing} did nothing for {STALL_SECONDS:g} seconds and was stopped.",
            hint="Nothing was changed. Check the network and the proxy, and try again.",
        )
    if finished.timed_out:
        limit = READ_SECONDS if doing in _READS else TIMEOUT_SECONDS
        raise InstallFailed(
            f"{program} {doing} took longer than {limit:g} seconds.",
            hint="Nothing was changed. Check the network and try again.",
        )
    output, errors = _texts(finished)
    raise InstallFailed(f"{program} {doing} failed: {_failure_reason(errors or output)}")


def _texts(finished: Finished) -> tuple[str, str]:
    """Return standard output and standard error as text."""
    return finished.output.decode("utf-8", "replace"), finished.errors.decode("utf-8", "replace")


def _failure_reason(output: str) -> str:
    """Return the first lines that are marked as errors, or the last line."""
    lines = [line for line in map(str.strip, output.splitlines()) if line]
    marked = [_REASON.sub("", line) for line in lines if _REASON.match(line)]
    marked = [line for line in marked if line != _PIP_CRASHED]
    text = without_password("; ".join(marked[:2] or lines[-1:]))
    return text[:_MAX_REASON] or "it gave no reason"


Key: TypeAlias = tuple[object, ...]

_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)(?P<rest>[-.\w]*)(?:\+\S*)?", re.ASCII
)
_PART = re.compile(r"\d+|[a-z]+")
_SHORT = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc", "rev": "post"}


def is_newer(candidate: str, installed: str) -> bool:
    """Whether the npm or Python version ``candidate`` is newer; False if not comparable."""
    new, old = _version_key(candidate), _version_key(installed)
    return new is not None and old is not None and new > old


def _version_key(version: str) -> Key | None:
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    numbers = [int(part) for part in match["release"].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    parts = [_SHORT.get(part, part) for part in _PART.findall(match["rest"].lower())]
    # dev < other words < no word < post; within them dev < the end < numbers < words.
    rank = 2 if not parts else {"dev": 0, "post": 3}.get(parts[0], 1)
    return int(match["epoch"] or 0), numbers, rank, [*map(_weight, parts), (1, 0, "")]


def _weight(part: str) -> tuple[int, int, str]:
    if part.isdigit():
        return 2, int(part), ""
    return (0, 0, "") if part == "dev" else (3, 0, part)
