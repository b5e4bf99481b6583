"""Files that a command reads without naming them: searches below a folder, and contents of git.

A file of a deny rule is left out where the program leaves it out itself: ripgrep skips hidden
files, and ``git grep`` reads files of the index only. Otherwise the call asks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pi.batteries.permissions.commands import base_name
from pi.batteries.permissions.paths import BaseFolders, TouchedPath
from pi.batteries.permissions.patterns import rule_matches, rules_below
from pi.batteries.permissions.rules import Rule
from pi.extension import CommandPart


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RIPGREP = _names("rg ripgrep")
_SEARCHERS = _names("ag ack ack-grep pt ugrep sift ucg")
"""Programs that search the working directory if no path is named."""
_GREPS = _names("grep egrep fgrep zgrep rgrep")
_GREP_VALUES = _names("-e -f -m -A -B -C -d -D --regexp --file --include --exclude --exclude-dir")
_RIPGREP_VALUES = _names(
    "-e -f -g -t -T -A -B -C -m -j -M -r -E -d --regexp --file --glob --iglob --type --type-not "
    "--after-context --before-context --context --max-count --threads --max-columns --replace "
    "--encoding --max-depth --sort --sortr --color --colors --engine --max-filesize"
)
"""Options whose value is a word of its own."""
_HIDDEN = re.compile(r"-[a-zA-Z]*[u.][a-zA-Z.]*|--hidden|--unrestricted|--no-ignore.*")
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive|--dereference-recursive")

_GIT_HISTORY = _names(
    "show log whatchanged format-patch range-diff archive bundle fast-export cat-file stash "
    "reflog diff-tree cherry"
)
"""Commands of git that may show files of older commits."""
_GIT_FILES = _names("diff grep diff-index diff-files blame annotate")
"""Commands of git that show files of the index or the work tree."""
_SUMMARY = re.compile(
    r"--(?:stat|shortstat|numstat|dirstat|name-only|name-status|summary|no-patch|quiet|oneline"
    r"|raw|check|files-with-matches|list|count)(?:=.*)?|-s|-l|-c|-t|-p?q"
)
"""Options with which a command shows names and numbers, not contents."""
_PATCH = re.compile(r"-p|-u|--patch.*|-L.*|--cc|-c|-m|--full-diff|-U\d+|--unified.*|-[GS].*")
"""Options with which ``git log`` shows contents."""
_MAX_INDEX = 64 * 1024 * 1024


def rule_of_unnamed_files(
    part: CommandPart, folders: Sequence[str], rules: Sequence[Rule], places: BaseFolders
) -> Rule | None:
    """The first rule about a file that a part may show although it does not name it.

    ``folders`` are those in which the part may run.
    """
    name = base_name(part.name or "")
    texts = [word.literal or word.raw for word in part.arguments]
    if name == "git":
        return _of_git(texts, folders, rules, places)
    if name in _RIPGREP and _operands(texts, _RIPGREP_VALUES) <= 1:
        hidden = any(map(_HIDDEN.fullmatch, texts))
        return _below(folders, rules, places, hidden=hidden)
    if name in _SEARCHERS and _operands(texts, frozenset()) <= 1:
        return _below(folders, rules, places, hidden=True)
    recursive = name == "rgrep" or any(map(_RECURSIVE.fullmatch, texts))
    if name in _GREPS and recursive and _operands(texts, _GREP_VALUES) <= 1:
        return _below(folders, rules, places, hidden=True)
    return None


def _operands(texts: Sequence[str], with_value: frozenset[str]) -> int:
    """The number of words that are no options; a pattern of ``-e`` counts, as without it."""
    count, skip = 0, False
    for text in texts:
        if skip:
            skip = False
        elif text in with_value:
            skip = True
            count += text in ("-e", "-f", "--regexp", "--file")
        elif text == "--files":
            count += 1  # takes no pattern
        elif not text.startswith("-"):
            count += 1
    return count


def _below(
    folders: Sequence[str], rules: Sequence[Rule], places: BaseFolders, *, hidden: bool
) -> Rule | None:
    for folder in folders:
        for rule, path in rules_below(folder, rules, places):
            inside = os.path.relpath(path, folder).split("/") if path else []
            if hidden or not any(part.startswith(".") for part in inside):
                return rule
    return None


# Git ----------------------------------------------------------------------------------------------


def _of_git(
    texts: Sequence[str], folders: Sequence[str], rules: Sequence[Rule], places: BaseFolders
) -> Rule | None:
    words = _without_global_options(texts)
    command, arguments = (words[0], words[1:]) if words else ("", [])
    if not _shows_contents(command, arguments):
        return None
    folders = [*folders, *_named_folders(texts, folders)]
    if "--no-index" in arguments or "--untracked" in arguments:
        return _below(folders, rules, places, hidden=True)
    for folder in folders:
        root = _work_tree(Path(folder))
        if root is None:
            continue
        is_old = command in _GIT_HISTORY or (command == "diff" and _has_revision(arguments, folder))
        rule = _concerning(root, rules, places) if is_old else _tracked(root, rules, places)
        if rule is not None:
            return rule
    return None


def _shows_contents(command: str, arguments: Sequence[str]) -> bool:
    """Whether a command of git shows contents of files that it does not name."""
    if any(map(_SUMMARY.fullmatch, arguments)):
        return False
    if "--" in arguments[:-1]:  # the paths behind it are named, and compared with rules
        return False
    if command in ("log", "reflog"):
        return any(map(_PATCH.fullmatch, arguments))
    if command == "stash":
        return arguments[:1] == ["show"]
    return command in _GIT_HISTORY | _GIT_FILES


def _named_folders(texts: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The folders of ``git -C``."""
    pairs = pairwise(texts)
    named = [value for option, value in pairs if option == "-C"]
    return [str(Path(folder, name)) for folder in folders for name in named]


def _without_global_options(texts: Sequence[str]) -> list[str]:
    remaining = list(texts)
    while remaining and remaining[0].startswith("-"):
        option = remaining.pop(0)
        if option in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") and remaining:
            remaining.pop(0)
    return remaining


def _work_tree(folder: Path) -> Path | None:
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _has_revision(arguments: Sequence[str], folder: str) -> bool:
    """Whether some argument is not a file: then it names a commit."""
    operands = (text for text in arguments if not text.startswith("-"))
    return any(not Path(folder, text).exists() for text in operands)


def _concerning(root: Path, rules: Sequence[Rule], places: BaseFolders) -> Rule | None:
    return next((rule for rule in rules if _concerns(rule, root, places)), None)


def _concerns(rule: Rule, root: Path, places: BaseFolders) -> bool:
    """Whether a rule may be about a file of a repository, also one that was deleted."""
    specifier = rule.specifier
    if specifier.startswith("//"):
        fixed = re.split(r"[^/]*[*?]", specifier[1:])[0]
        return str(root).startswith(fixed.rstrip("/")) or fixed.startswith(f"{root}/")
    if specifier.startswith("~"):
        fixed = places.home + re.split(r"[^/]*[*?]", specifier[1:])[0]
        return fixed.startswith(f"{root}/")
    return True


def _tracked(root: Path, rules: Sequence[Rule], places: BaseFolders) -> Rule | None:
    """The first rule about a file of the index."""
    try:
        for name in _index_names(root):
            path = str(root / name)
            touched = TouchedPath(written=path, lexical=path, real=path)
            for rule in rules:
                if rule_matches(rule, touched, places):
                    return rule
    except (OSError, ValueError):  # not readable, or of a form that is not known
        return _concerning(root, rules, places)
    return None


def _index_names(root: Path) -> Iterator[str]:
    """Yield the paths of the index. Raises ``ValueError`` for forms other than version 2 and 3."""
    git_dir = root / ".git"
    if git_dir.is_file():
        git_dir = root / git_dir.read_text("utf-8").partition("gitdir:")[2].strip()
    file = git_dir / "index"
    if not file.exists():
        return
    if file.stat().st_size > _MAX_INDEX:
        raise ValueError("the index is too large")
    data = file.read_bytes()
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3):
        raise ValueError("the index has another form")
    offset = 12
    for _ in range(count):
        flags = int.from_bytes(data[offset + 60 : offset + 62], "big")
        start = offset + (64 if flags & 0x4000 else 62)
        end = data.index(b"\0", start)
        yield data[start:end].decode("utf-8", "surrogateescape")
        offset += (end - offset + 8) // 8 * 8  # padded with one to eight zero bytes
    if b"link" in data[offset:]:
        raise ValueError("a part of the index is in another file")
