"""Files whose contents a command of git shows without naming them.

Files of the index count for ``git diff`` and ``git grep``; commands that show older commits may
show every file that a rule is about, also one that is not there any more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pi.batteries.permissions.git_index import index_entries, index_of
from pi.batteries.permissions.paths import BaseFolders, is_below
from pi.batteries.permissions.patterns import FileMatcher, rules_below
from pi.batteries.permissions.rules import Rule


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HISTORY = _names(
    "show log whatchanged format-patch range-diff archive bundle fast-export cat-file stash "
    "reflog diff-tree cherry for-each-ref tag branch difftool merge-tree unpack-file"
)
"""Commands of git that may show files of older commits."""
_FILES = _names("diff grep diff-index diff-files blame annotate status")
"""Commands of git that show files of the index or the work tree."""
_WITHOUT_CONTENT = _names(
    "add am apply bisect check-attr check-ignore check-ref-format checkout cherry-pick clean clone "
    "commit commit-tree config count-objects describe fetch fsck gc hash-object help init lfs "
    "ls-files ls-remote ls-tree maintenance merge merge-base mv name-rev pack-refs prune pull push "
    "rebase remote repack reset restore rev-list rev-parse revert rm shortlog show-branch show-ref "
    "sparse-checkout submodule switch symbolic-ref update-index update-ref var verify-commit "
    "verify-tag version worktree write-tree"
)
"""Commands of git that show no contents, but of the work tree that they change. Others that are not
known may be an alias of one that does."""
_SHOWING_OPTIONS = {
    **dict.fromkeys(("status", "commit"), r"-(?!-)\w*v|--v"),
    **dict.fromkeys(("add", "checkout", "reset", "restore"), r"-(?!-)\w*[pie]|--(?:pat|int|ed)"),
}
"""Options with which a command that otherwise shows no contents does."""
_SUMMARY = re.compile(
    r"--(?:stat|shortstat|numstat|dirstat|compact-summary|name-only|name-status|summary|no-patch"
    r"|quiet|raw)(?:=.*)?|-s"
)
"""Options with which a command shows names and numbers, not contents."""
_GREP_SUMMARY = re.compile(
    r"--(?:files-with-matches|files-without-match|name-only|count|quiet)|-[cilnwEFq]*[clLq][cilnwEFq]*"
)
_NO_CONTENT = re.compile(
    r"-\d+|-n\d*|-[iEFPMCDBwbzR]\d*%?|--"
    r"|--(?:oneline|graph|all|branches|tags|remotes|decorate|no-decorate|abbrev-commit|reverse"
    r"|no-abbrev-commit|follow|no-merges|merges|first-parent|date-order|topo-order|no-color|color"
    r"|relative|no-renames|find-renames|find-copies|cached|staged|merge-base|invert-grep|all-match"
    r"|no-ext-diff|no-textconv|left-right|cherry-pick|cherry-mark|boundary|ancestry-path"
    r"|simplify-by-decoration|full-history|ignore-space-change|ignore-all-space|exit-code|no-notes"
    r"|max-count|skip|since|until|after|before|author|committer|grep|date|abbrev|encoding|format"
    r"|pretty|diff-filter|not|exclude|no-walk|root|no-commit-id|author-date-order|regexp-ignore-case)"
    r"(?:=.*)?"
)
"""Further options that do not make a command show contents."""
_GREP_VALUES = _names("-A -B -C -m -O --max-depth --threads --max-count")


_FILE_OF_COMMIT = re.compile(r"[\w./@~^-]*:(?!/)[^:]*")
"""``HEAD~1:src/x.py``, but not ``:/text``, which is a commit by its message."""


def rule_of_git(
    texts: Sequence[str], folders: Sequence[str], rules: Sequence[Rule], base_folders: BaseFolders
) -> Rule | None:
    """The first rule about a file that a command of git may show although it does not name it."""
    command, arguments = _subcommand(texts)
    if not _shows_contents(command, arguments):
        return None
    folders = [*folders, *_named_folders(texts, folders)]
    if "--no-index" in arguments or "--untracked" in arguments:
        below = (rules_below(folder, rules, base_folders) for folder in folders)
        return next((rule for files in below for rule, _ in files), None)
    for folder in folders:
        root = work_tree(Path(folder))
        if root is None:
            continue
        named = _named_paths(arguments, folder)
        if named is not None and not named:
            continue  # only files, which are compared with rules
        is_old = command in _HISTORY or _shows_older_files(command, arguments, folder)
        rule = (
            _concerning(root, rules, base_folders)
            if is_old
            else _tracked(root, rules, base_folders, folders=named)
        )
        if rule is not None:
            return rule
    return None


def searches_untracked(texts: Sequence[str]) -> bool:
    """Whether a command of git shows files that are not in the repository."""
    command, arguments = _subcommand(texts)
    if "--stdin-paths" in arguments:
        return True
    options = _options(arguments)
    reads_files = any(
        option.startswith("--no-i") or (command == "grep" and option.startswith("--untr"))
        for option in options
    )
    return (
        reads_files
        and command in ("grep", "diff", "difftool")
        and _shows_contents(
            command, [text for text in arguments if not text.startswith(("--no-i", "--untr"))]
        )
    )


def shown_folders(
    texts: Sequence[str], folders: Sequence[str]
) -> Iterator[tuple[Path, list[str] | None]]:
    """Yield the work trees of which a command of git may show contents that it does not name.

    With each come the folders that it names; ``None`` stands for all.
    """
    command, arguments = _subcommand(texts)
    if not _shows_contents(command, arguments):
        return
    for folder in (*folders, *_named_folders(texts, folders)):
        root = work_tree(Path(folder))
        if root is not None:
            yield root, _named_paths(arguments, folder)


def shown_histories(
    texts: Sequence[str], folders: Sequence[str]
) -> Iterator[tuple[str, list[str] | None]]:
    """Yield the folders of repositories of which a command of git may show older files.

    With each come the paths that it names; ``None`` stands for all.
    """
    command, arguments = _subcommand(texts)
    is_known = command in _HISTORY | _FILES | _WITHOUT_CONTENT or not command
    if is_known and not _shows_contents(command, arguments):
        return
    operands = [text for text in arguments if not text.startswith("-")]
    if (
        command in ("show", "cat-file")
        and operands
        and all(map(_FILE_OF_COMMIT.fullmatch, operands))
    ):
        return
    for folder in (*folders, *_named_folders(texts, folders)):
        if not is_known or command in _HISTORY or _shows_older_files(command, arguments, folder):
            yield folder, _named_paths(arguments, folder)


def _shows_contents(command: str, arguments: Sequence[str]) -> bool:
    """Whether a command of git shows contents of files that it does not name."""
    options = _options(arguments)
    if showing := _SHOWING_OPTIONS.get(command):
        return any(re.match(showing, option) for option in options)
    match command:
        case "log" | "reflog":
            quiet = (
                _NO_CONTENT.fullmatch(option) or _SUMMARY.fullmatch(option) for option in options
            )
            return not all(quiet)
        case "grep":
            return not any(map(_GREP_SUMMARY.fullmatch, options)) or any(
                option.startswith("--no-") for option in options
            )
        case "for-each-ref" | "tag" | "branch":
            return any(re.search(r"raw|contents", option) for option in arguments)
        case "stash":
            return arguments[:1] == ["show"] and not _only_summary(options)
        case _:
            return command in _HISTORY | _FILES and not _only_summary(options)


def _only_summary(options: Sequence[str]) -> bool:
    summaries = [option for option in options if _SUMMARY.fullmatch(option)]
    others = (option for option in options if option not in summaries)
    return bool(summaries) and all(map(_NO_CONTENT.fullmatch, others))


def _options(arguments: Sequence[str]) -> list[str]:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [argument for argument in arguments[:end] if argument.startswith("-")]


def _named_paths(arguments: Sequence[str], folder: str) -> list[str] | None:
    """The folders among the paths behind ``--``; ``None`` if any file may be meant.

    A path that does not exist may be a folder of an older commit.
    """
    if "--" not in arguments[:-1] or {"--full-diff", "--follow"} & {*arguments}:
        return None  # these options show further files, or an older name of a file
    paths = arguments[arguments.index("--") + 1 :]
    if any(path.startswith(":") or set("*?[\\") & set(path) for path in paths):
        return None
    absolute_paths = [os.path.normpath(Path(folder, path)) for path in paths]
    return [path for path in absolute_paths if not Path(path).is_file()]


def _shows_older_files(command: str, arguments: Sequence[str], folder: str) -> bool:
    """Whether a command compares or searches commits, which may have further files."""
    if command in ("status", "diff-index") or {"--cached", "--staged"} & {*arguments}:
        return True
    end = arguments.index("--") if "--" in arguments else len(arguments)
    operands: list[str] = []
    before = ""
    for text in arguments[:end]:
        if not text.startswith("-") and not (command == "grep" and before in _GREP_VALUES):
            operands.append(text)
        before = text
    if command == "grep":
        operands = operands[1:]  # the pattern
    if "--" in arguments and operands:
        return True
    return any(not Path(folder, text).exists() for text in operands)


def _named_folders(texts: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The folders of ``git -C`` and ``git --git-dir``."""
    pairs = pairwise(texts)
    named = [value for option, value in pairs if option in ("-C", "--git-dir")]
    named += [text.partition("=")[2] for text in texts if text.startswith("--git-dir=")]
    return [str(Path(folder, name)) for folder in folders for name in named]


def _subcommand(texts: Sequence[str]) -> tuple[str, list[str]]:
    """The subcommand, empty if there is none, and its arguments; ``stash list`` is a log."""
    command, *arguments = without_global_options(texts) or [""]
    if command == "stash" and arguments[:1] == ["list"]:
        return "log", arguments[1:]
    return command, arguments


def without_global_options(texts: Sequence[str]) -> list[str]:
    """The subcommand and its arguments."""
    remaining = list(texts)
    while remaining and remaining[0].startswith("-"):
        option = remaining.pop(0)
        if option in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") and remaining:
            remaining.pop(0)
    return remaining


def work_tree(folder: Path) -> Path | None:
    """The folder with ``.git`` that contains a folder, or is it."""
    return next(
        (candidate for candidate in (folder, *folder.parents) if (candidate / ".git").exists()),
        None,
    )


def _concerning(root: Path, rules: Sequence[Rule], base_folders: BaseFolders) -> Rule | None:
    return next((rule for rule in rules if _concerns(rule, root, base_folders)), None)


def _concerns(rule: Rule, root: Path, base_folders: BaseFolders) -> bool:
    """Whether a rule may be about a file of a repository, also one that was deleted."""
    specifier = rule.specifier
    if specifier.startswith("//"):
        fixed = re.split(r"[^/]*[*?]", specifier[1:])[0]
        return str(root).startswith(fixed.rstrip("/")) or fixed.startswith(f"{root}/")
    if specifier.startswith("~"):
        fixed = base_folders.home + re.split(r"[^/]*[*?]", specifier[1:])[0]
        return fixed.startswith(f"{root}/")
    return True


def _tracked(
    root: Path, rules: Sequence[Rule], base_folders: BaseFolders, *, folders: Sequence[str] | None
) -> Rule | None:
    """The first rule about a file of the index, below ``folders`` if they are known."""
    matchers = [FileMatcher(rule, base_folders) for rule in rules]
    try:
        for entry in index_entries(index_of(root / ".git")):
            path = f"{root}/{entry.path}"
            if folders is not None and not any(is_below(path, folder) for folder in folders):
                continue
            for matcher in matchers:
                if matcher.matches_name(path):
                    return matcher.rule
    except (OSError, ValueError):  # not readable, or of a form that is not known
        return _concerning(root, rules, base_folders)
    return None
