"""Files that a command reads without naming them: searches below a folder, lists of names.

A file of a deny rule is left out where the program leaves it out itself: ripgrep skips hidden
files. Otherwise the call asks. ``git_contents`` decides about git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from pi.batteries.permissions.commands import base_name
from pi.batteries.permissions.git_contents import rule_of_git
from pi.batteries.permissions.paths import BaseFolders, touched
from pi.batteries.permissions.patterns import FileMatcher, rules_below
from pi.batteries.permissions.rules import Rule
from pi.extension.guards import CommandPart


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHOWS_NO_CONTENT = _names(
    "echo printf ls stat test [ [[ rm rmdir touch chmod chown mkdir which type cd pushd true false "
    "du realpath dirname basename readlink file find fd tree"
)
"""Programs that print nothing of the files in their arguments."""
_RIPGREP = _names("rg ripgrep")
_SEARCHERS = _names("ag ack ack-grep pt ugrep sift ucg")
"""Programs that search the working directory if no path is named."""
_GREPS = _names("grep egrep fgrep zgrep rgrep")
_GREP_LETTERS, _RIPGREP_LETTERS = "efmABCdD", "efgtTABCmjMrEd"
"""Letters of options whose value may be a word of its own."""
_GREP_FLAGS = _names(
    "--ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color "
    "--colour --files-with-matches --files-without-match --only-matching --quiet --silent --text "
    "--no-messages --byte-offset --with-filename --no-filename --line-number --initial-tab --null "
    "--recursive --dereference-recursive --extended-regexp --fixed-strings --basic-regexp "
    "--perl-regexp --line-buffered --null-data --no-group-separator --version --help"
)
_RIPGREP_FLAGS = _names(
    "--hidden --unrestricted --ignore-case --smart-case --case-sensitive --fixed-strings "
    "--word-regexp --line-regexp --line-number --count --count-matches --files-with-matches "
    "--files-without-match --only-matching --invert-match --multiline --multiline-dotall --pcre2 "
    "--quiet --vimgrep --json --heading --with-filename --trim --text --stats --follow "
    "--search-zip --null --null-data --column --pretty --passthru --crlf --debug --binary "
    "--one-file-system "
    "--line-buffered --byte-offset --type-list --max-columns-preview --include-zero"
)
"""Options without a value; an option that is not listed is taken to have one."""
_SHOWS_HIDDEN = re.compile(
    r"-(?!-)[^-]*[u.].*|--hidden|--unrestricted|--no-ignore.*|--ignore-file.*|--type-add.*"
)
_HIDDEN_TYPES = _names("all ruby sh vim vimscript zsh")
"""File types of ripgrep that include files such as ``.env``: types are searched though hidden."""
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_READERS_OF_LISTS = _names("sort wc du find")
_READERS_OF_OPTIONS = _names("strings readelf nm objdump size addr2line objcopy c++filt")
"""Programs of which ``@file`` is replaced by the words in a file."""


def names_files_at_run_time(part: CommandPart) -> bool:
    """Whether a command reads files whose names come from its input, a file or its script."""
    name = base_name(part.name or "")
    texts = [word.literal or word.prefix for word in part.arguments]
    if part.more_arguments and name not in SHOWS_NO_CONTENT:
        return True
    if name in _READERS_OF_LISTS:
        return any(re.match(r"--?f(?:\Z|i\Z|il|iles0)", text) for text in texts)
    if name in _READERS_OF_OPTIONS:
        return any(text.startswith("@") for text in texts)
    if name == "jq":  # modules are files
        file_of_script = re.compile(r"-(?!-)\w*f\w*|--from-file.*|.*\b(?:import|include)\b.*", re.S)
        return any(map(file_of_script.fullmatch, texts))
    return name == "yq" and any("load" in text for text in texts)


def rule_of_unnamed_files(
    part: CommandPart, folders: Sequence[str], rules: Sequence[Rule], base_folders: BaseFolders
) -> Rule | None:
    """The first rule about a file that a part may show although it does not name it.

    ``folders`` are those in which the part may run.
    """
    name = base_name(part.name or "")
    texts = [word.literal or word.raw for word in part.arguments]
    if rules and names_files_at_run_time(part):
        return rules[0]
    if name == "git":
        return rule_of_git(texts, folders, rules, base_folders)
    return _rule_of_search(name, texts, folders, rules, base_folders)


def _rule_of_search(
    name: str,
    texts: Sequence[str],
    folders: Sequence[str],
    rules: Sequence[Rule],
    base_folders: BaseFolders,
) -> Rule | None:
    if follows_links(name, texts) and (rule := _behind_links(texts, folders, rules, base_folders)):
        return rule
    if name in _RIPGREP and _operands(texts, _RIPGREP_LETTERS, _RIPGREP_FLAGS) <= 1:
        return _unnamed_by_ripgrep(texts, folders, rules, base_folders)
    if name in _SEARCHERS and _operands(texts, "", frozenset()) <= 1:
        return _below(folders, rules, base_folders)
    recursive = name == "rgrep" or is_recursive(texts)
    if name in _GREPS and recursive and _operands(texts, _GREP_LETTERS, _GREP_FLAGS) <= 1:
        return _below(folders, rules, base_folders)
    return None


def _operands(texts: Sequence[str], letters: str, flags: frozenset[str]) -> int:
    """The number of words that are no options; a pattern of ``-e`` counts, as without it."""
    count, skip, ended = 0, False, False
    for text in texts:
        if skip:
            skip = False
        elif ended or not text.startswith("-") or text == "-":
            count += 1
        elif text == "--":
            ended = True
        elif text.startswith("--"):
            is_flag = text.startswith("--no-") or text in flags
            # grep accepts the beginning of a name.
            is_flag |= letters == _GREP_LETTERS and any(flag.startswith(text) for flag in flags)
            # ``--files`` takes no pattern, and ``--regexp`` is one.
            count += text.partition("=")[0] in ("--files", "--regexp", "--file")
            skip = "=" not in text and not is_flag and text != "--files" and bool(flags)
        elif value := next((letter for letter in text[1:] if letter in letters), ""):
            count += value in "ef"
            skip = text.endswith(value) and text.index(value) == len(text) - 1
    return count


def is_recursive(texts: Sequence[str]) -> bool:
    """Whether ``grep`` with these arguments searches folders."""
    names_directories = any(re.match(r"-(?!-)\w*d|--di", text) for text in texts)
    for text in texts:
        if re.match(r"-(?!-)[^-]*[rR]", text):
            return True
        if len(text) > 3 and any(
            option.startswith(text) for option in ("--recursive", "--dereference-recursive")
        ):
            return True
        if names_directories and re.fullmatch(r"(?:-\w*d|--di\w*=)?rec\w*", text):
            return True
    return False


def follows_links(program: str, texts: Sequence[str]) -> bool:
    """Whether a search also reads files to which links below a folder lead."""
    if program in _RIPGREP:
        return any(re.match(r"-(?!-)[A-Za-z]*L|--follow\Z", text) for text in texts)
    if program in _GREPS:
        dereferences = "--dereference-recursive"
        return any(
            re.match(r"-(?!-)[A-Za-z]*R", text) or (len(text) > 3 and dereferences.startswith(text))
            for text in texts
        )
    return program in _SEARCHERS and any(
        re.match(r"-(?!-)[A-Za-z]*[fLR]|--follow|--deref", text) for text in texts
    )


def links_in(parent: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the links among the entries of a folder."""
    for name in names:
        path = f"{parent}/{name}"
        if os.path.islink(path):  # noqa: PTH114
            yield path


_MAX_FOLDERS = 5000


def _behind_links(
    texts: Sequence[str], folders: Sequence[str], rules: Sequence[Rule], base_folders: BaseFolders
) -> Rule | None:
    """The first rule about a file to which a link below a searched folder leads."""
    matchers = [FileMatcher(rule, base_folders) for rule in rules]
    named = (touched(text, base, base_folders).real for text in texts for base in folders)
    searched = [folder for folder in named if Path(folder).is_dir()] or folders
    for folder in searched:
        for parent, subfolders, files in islice(os.walk(folder), _MAX_FOLDERS):
            for link in links_in(parent, (*subfolders, *files)):
                path = touched(link, folder, base_folders)
                for matcher in matchers:
                    if matcher.matches(path):
                        return matcher.rule
                for rule, _ in rules_below(path.real, rules, base_folders):
                    return rule
    return None


def _below(folders: Sequence[str], rules: Sequence[Rule], base_folders: BaseFolders) -> Rule | None:
    for folder in folders:
        for rule, _ in rules_below(folder, rules, base_folders):
            return rule
    return None


def _unnamed_by_ripgrep(
    texts: Sequence[str], folders: Sequence[str], rules: Sequence[Rule], base_folders: BaseFolders
) -> Rule | None:
    for folder in folders:
        for rule, path in rules_below(folder, rules, base_folders):
            inside = Path(os.path.relpath(path, folder)) if path else Path()
            is_hidden = any(part.startswith(".") for part in inside.parts)
            if not is_hidden or shows_hidden(texts, inside):
                return rule
            if _is_unignored(Path(path)):
                return rule
    return None


def shows_hidden(texts: Sequence[str], path: Path) -> bool:
    """Whether ripgrep with these arguments searches a hidden file."""
    types = {*_values(texts, "t", ("--type",))}
    if any(map(_SHOWS_HIDDEN.fullmatch, texts)) or types & _HIDDEN_TYPES:
        return True
    return _is_included(path, [*_values(texts, "g", ("--glob", "--iglob"))])


def _values(texts: Sequence[str], letter: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of an option: ``-g x``, ``-gx``, ``-ng x``, ``--glob=x``."""
    for text, following in zip(texts, (*texts[1:], ""), strict=True):
        if match := re.match(rf"-(?!-)[^{letter}-]*{letter}=?(.*)", text, re.DOTALL):
            yield match[1] or following
        elif text.partition("=")[0] in names:
            yield text.partition("=")[2] or following


def _is_included(path: Path, globs: Sequence[str]) -> bool:
    """Whether a glob includes a hidden file; ripgrep searches it then."""
    for glob in globs:
        pattern = glob.casefold().lstrip("/")
        if pattern.startswith("!"):
            continue
        names = [part.casefold() for part in path.parts] + [str(path).casefold()]
        if set("{[\\") & set(pattern) or any(fnmatchcase(name, pattern) for name in names):
            return True
    return False


def _is_unignored(path: Path) -> bool:
    """Whether an ignore file above a path may include it again: ``!.env`` also shows it."""
    for folder in path.parents:
        for name in _IGNORE_FILES:
            try:
                lines = (folder / name).read_text("utf-8", "replace").splitlines()
            except OSError:
                continue
            if any(line.startswith("!") for line in lines):
                return True
    return False
