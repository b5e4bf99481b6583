"""``.env`` files: variables for pi itself, below those of the process and never for its children.

Only names that the process does not have are taken, from the first file that has them: the trusted
project's, the agent directory's, the config root's, the home folder's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pi.base.files import FileProblem, read_if_exists
from pi.base.records import Record

NAME = ".env"

Warn: TypeAlias = Callable[[str], None]

_LINE = r"""(?xms)
    ^[ \t]* (?:export[ \t]+)? (?P<name>[A-Za-z_][A-Za-z0-9_]*) [ \t]*=[ \t]*
    (?: "(?P<double> (?:[^"\\]|\\.)* )" | '(?P<single> [^']* )' | (?P<plain> [^\n]*? ) )
    [ \t]* (?: (?<=[\s"'=]) \#[^\n]* )? $
    """
_ESCAPED = r"(?s)\\(.)"
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}


class Environment(Record):
    """The variables that pi sees, and which of them no child may see."""

    values: Mapping[str, str]
    from_files: frozenset[str] = frozenset()
    """Names that only a ``.env`` file has."""

    @property
    def of_process(self) -> dict[str, str]:
        """Only what the process was started with."""
        return {name: value for name, value in self.values.items() if name not in self.from_files}

    def with_file(self, variables: Mapping[str, str]) -> Environment:
        """This and the variables of one more file, which beats the files before it."""
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

    def __init__(self, now: Callable[[], Mapping[str, str]]) -> None:
        self._now = now

    def __getitem__(self, name: str) -> str:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


def layered(process: Mapping[str, str], files: Sequence[Path], warn: Warn) -> Environment:
    """The process's variables over those of ``files``, of which earlier ones win."""
    environment = Environment(values=process)
    for path in reversed(files):
        environment = environment.with_file(read_dotenv(path, warn))
    return environment


def read_dotenv(path: Path, warn: Warn) -> dict[str, str]:
    """The variables of a file; none if there is no such file, or if it cannot be read."""
    try:
        # Some people keep an environment of Python in a folder of that name.
        data = None if path.is_dir() else read_if_exists(path)
    except (FileProblem, OSError) as problem:
        warn(f"Warning: {path} was not read: {problem}")
        return {}
    return parse_dotenv(data.decode("utf-8-sig", "replace")) if data else {}


def parse_dotenv(text: str) -> dict[str, str]:
    """``NAME=value`` line by line, quoted or not; ``OMP_X`` also says ``PI_X``.

    Nothing is expanded. In double quotes, a backslash escapes; either quote may span lines. A line
    that says nothing of this kind is skipped.
    """
    found = {line["name"]: _value(line) for line in re.finditer(_LINE, text.replace("\r\n", "\n"))}
    mirrored = {
        f"PI_{name.removeprefix('OMP_')}": value
        for name, value in found.items()
        if name.startswith("OMP_")
    }
    return mirrored | found


def _value(line: re.Match[str]) -> str:
    if line["double"] is not None:
        return re.sub(_ESCAPED, lambda escape: _MEANS.get(escape[1], escape[1]), line["double"])
    return line["single"] if line["single"] is not None else line["plain"]
