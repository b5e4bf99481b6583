"""Files of a project that can start something later. Pure, but for ``protected_paths``.

Permissions ask before a tool changes one of them; the sandbox keeps those that exist read-only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePath

GIT = ".git"
_FOLDERS = frozenset({".pi", ".claude", ".opencode", ".husky", GIT})
"""Folders of which every file counts, wherever they are."""
_OF_PROGRAMS = (
    *("devcontainer.json", ".devcontainer.json", "crush.json", ".crush.json", ".aider.conf.yml"),
    *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".dir-locals.el"),
    *(".vimrc", ".gvimrc", ".gdbinit", ".lldbinit", ".irbrc", ".rprofile"),
)
"""Files of a project with commands of containers, agents, version managers, editors, debuggers."""
_NAMES = frozenset(
    {
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
        *(".login", ".envrc", "config.fish", ".gitconfig", ".gitmodules", "authorized_keys"),
        *("mcp.json", ".mcp.json", "mcp_config.json", "opencode.json", "opencode.jsonc"),
        *("lsp.json", ".lsp.json", ".pre-commit-config.yaml", ".exrc", ".nvimrc", ".nvim.lua"),
        *("sitecustomize.py", "usercustomize.py", ".claude.json"),
        # They name the programs and the hosts of a package manager, and may send variables there.
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs"),
        *_OF_PROGRAMS,
    }
)
"""Files by name, wherever they are: of shells, git, ssh, agents, editors and hook managers."""
_PATHS = (
    *(".vscode/mcp.json", ".vscode/tasks.json", ".vscode/launch.json", ".vscode/settings.json"),
    *(".cursor/mcp.json", ".cursor/hooks.json", ".codex/config.toml", ".codex/hooks.json"),
    *(".zed/tasks.json", ".zed/settings.json", ".cargo/config", ".cargo/config.toml"),
    *(".qwen/settings.json", ".continue/config.json", ".continue/config.yaml"),
    *(".idea/workspace.xml", ".config/mise/config.toml"),
    *(".gemini/settings.json", ".config/opencode/opencode.json", ".ssh/config", ".ssh/rc"),
    *(".devcontainer/devcontainer.json", ".config/git/config", ".config/fish/config.fish"),
)
"""Ends of paths."""
_OF_GIT = ("config", "config.worktree", "hooks", "info", "commondir", "gitdir")
"""What decides which programs git runs. Its index, objects, refs and logs do not, and git itself
has to write them inside a sandbox."""
_SHORT_NAME = re.compile(r"(?:git|pi|claude|openco|husky)~\d")
"""The second name that Windows gives such a folder."""
_HOOK_MANAGER = re.compile(r"\.?lefthook(?:-local)?\.(?:ya?ml|json|toml)")
_OF_PROJECT = (
    *(".pi", ".claude", ".husky", ".envrc", ".gitmodules", ".pre-commit-config.yaml", ".opencode"),
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs"),
    *("mcp.json", ".mcp.json", "opencode.json", "lsp.json", ".lsp.json", "lefthook.yml"),
    ".idea/runConfigurations",
    *_OF_PROGRAMS,
    *(path for path in _PATHS if not path.startswith((".config/", ".ssh/"))),
)
_OF_HOME = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
    *(
        ".login",
        ".gitconfig",
        ".tmux.conf",
        ".vimrc",
        ".config/git",
        ".config/fish",
        ".config/nvim",
    ),
    *(".config/tmux", ".config/systemd", ".config/autostart", ".config/environment.d"),
    *(".local/bin", ".pam_environment", ".xprofile", ".xsessionrc", "Library/LaunchAgents"),
)
"""What runs with the shells, the login and the editors of a user."""
_MAX_GIT_FOLDERS = 200
"""Maximum of worktrees and submodules that the sandbox protects one by one."""


def starts_something(path: str) -> bool:
    """Whether a change of a file can make a program run later.

    The case of names is ignored, and what file systems ignore in them: invisible characters on
    macOS, dots and spaces at the end on Windows.
    """
    parts = [_plain(part) for part in PurePath(path).parts]
    if not parts:
        return False
    if not _FOLDERS.isdisjoint(parts) or parts[-1] in _NAMES:
        return True
    if "runconfigurations" in parts or any(map(_SHORT_NAME.fullmatch, parts)):
        return True
    if parts[-1].endswith(".code-workspace") or _HOOK_MANAGER.fullmatch(parts[-1]):
        return True
    if parts[-1].endswith(".pth") and "site-packages" in parts:  # Python runs its lines
        return True
    end = "/".join(parts[-3:])
    return any(end == protected or end.endswith(f"/{protected}") for protected in _PATHS)


def starts_by_scripts(path: str) -> bool:
    """Whether a file holds scripts that package managers run."""
    return _plain(PurePath(path).name) == "package.json"


def _plain(name: str) -> str:
    visible = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ") or name


@lru_cache(maxsize=16)
def start_paths(home: Path) -> tuple[Path, ...]:
    """Return what starts with the shells, the login and the editors of a user, existing or not."""
    return tuple(home / name for name in _OF_HOME)


def protected_paths(root: Path) -> Iterator[Path]:
    """Yield the paths in and below a project folder that a sandbox protects, existing or not."""
    yield from _paths_of_project(root)
    git = root / GIT
    if not git.is_dir():
        yield git  # the file of a worktree or submodule names the folder with the hooks
        return
    yield from _paths_of_git(git)
    for folder in _git_folders(git):
        yield from (path for path in _paths_of_git(folder) if path.exists())


# Only names, which do not change: the sandbox makes these paths for each command.
@lru_cache(maxsize=64)
def _paths_of_project(root: Path) -> tuple[Path, ...]:
    return tuple(root / name for name in _OF_PROJECT)


@lru_cache(maxsize=_MAX_GIT_FOLDERS)
def _paths_of_git(folder: Path) -> tuple[Path, ...]:
    return tuple(folder / name for name in _OF_GIT)


def _git_folders(git: Path) -> Iterator[Path]:
    """Yield the folders of worktrees and submodules, which have hooks and a configuration."""
    folders = (
        path.parent
        for pattern in ("worktrees/*/HEAD", "modules/*/HEAD", "modules/*/*/HEAD")
        for path in sorted(git.glob(pattern))
    )
    for _, folder in zip(range(_MAX_GIT_FOLDERS), folders, strict=False):
        yield folder
