"""Finds files with credentials in the history of a repository, also those that were removed.

``git show`` and ``git diff`` show files that are neither in the working tree nor in the index.
"""

from __future__ import annotations

from pathlib import Path

from pi.batteries.permissions.sensitive import is_sensitive
from pi.extension import ExecResult, ExtensionAPI, PiError
from pi.extension.guards import git_command

SECONDS = 10.0
"""Most time for one history; one that takes longer is not known, and the user decides."""
MAX_FILES = 20
_ADDED = (
    *("log", "--stdin", "--all", "--reflog", "--ignore-missing", "--diff-filter=A", "--name-only"),
    *(
        "--no-renames",
        "-m",
        "-z",
        "--format=",
        "--no-relative",
        "--no-show-signature",
        "--no-notes",
    ),
)
"""Every file of the history was added by a commit."""
_OPTIONS = ("-c", "log.showRoot=true", "-c", "diff.orderFile=/dev/null", "-c", "log.follow=false")
_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


class CredentialHistory:
    """The files with credentials in the histories of repositories, each commit read once."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._paths: dict[str, dict[str, None]] = {}
        """By folder of the repository."""
        self._read_commits: dict[str, frozenset[str]] = {}
        """The commits whose histories were read, by folder of the repository."""

    async def paths(self, folder: str, root: str) -> tuple[str, ...]:
        """Return where the files were, below ``root``, that git may show in a folder.

        A history that cannot be read counts as such a file.
        """
        tips = await self._git("for-each-ref", "--format=%(objectname)", cwd=folder)
        if tips is None or tips.code != 0:
            return ()  # not a repository, or git is not there
        read_commits = self._read_commits.get(root, frozenset())
        excluded = "".join(f"^{commit}\n" for commit in sorted(read_commits))
        added = await self._git(*_ADDED, cwd=folder, stdin=excluded)
        if added is None or added.code != 0:
            return (f"{root}/.git",)
        paths = self._paths.setdefault(root, {})
        names = (name.strip("\n") for name in added.stdout.split("\0"))
        paths |= {f"{root}/{name}": None for name in names if is_sensitive(name)}
        self._read_commits[root] = read_commits | frozenset(tips.stdout.split())
        return tuple(paths)[:MAX_FILES]

    async def _git(self, *arguments: str, cwd: str, stdin: str = "") -> ExecResult | None:
        command = git_command(arguments, options=_OPTIONS)
        try:
            return await self._pi.exec(
                command, cwd=Path(cwd), env=_ENVIRONMENT, stdin=stdin, timeout=SECONDS
            )
        except PiError:  # no git, or no such folder
            return None
