"""Which commands change nothing but files of the project, and which files they change."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from pi.batteries.permissions.archives import uses_archive
from pi.batteries.permissions.commands import base_name
from pi.batteries.permissions.git_contents import without_global_options
from pi.batteries.permissions.paths import BaseFolders, is_below, is_protected, touched
from pi.extension.guards import CommandPart, CommandWord


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILE_CHANGERS = _names(
    "cp mv rm rmdir ln link unlink tee dd install touch truncate chmod chown chgrp rsync sed gsed "
    "perl tar bsdtar unzip cpio curl wget sort uniq xxd shuf iconv tree split csplit patch yq "
    "mkdir mkfifo gzip gunzip bzip2 xz zstd scp"
)
"""Programs that change the files in their arguments."""
_LINKING = re.compile(r"-[A-Za-z]*[sladPRr]|--(?:symb|link|arch|recursive|no-deref|preserve)")

_WRITERS: dict[str, re.Pattern[str]] = {
    "mkdir": re.compile(r"-[pv]+|--parents|--verbose"),
    "touch": re.compile(r"-[acm]+|--no-create"),
    "tee": re.compile(r"-a|--append"),
    "cp": re.compile(r"-[finpv]+|--force|--no-clobber|--verbose"),
    "mv": re.compile(r"-[finv]+|--force|--no-clobber|--verbose"),
    "rm": re.compile(r"-[fv]+|--force|--verbose"),
    "rmdir": re.compile(r"-[pv]+|--parents"),
}
"""Programs that change exactly the files in their arguments, with the options that keep it so."""


def is_of_project(name: str, base_folders: BaseFolders) -> bool:
    """Whether a program of this name may be a file of the project, which the model can change.

    A virtual environment of the project is on PATH while it is active.
    """
    if "/" in name:
        return False
    folders = _project_folders(base_folders.program_folders, base_folders.cwd)
    return any(Path(base_folders.cwd, folder, name).exists() for folder in folders)


@lru_cache(maxsize=4)
def _project_folders(program_folders: tuple[str, ...], cwd: str) -> tuple[str, ...]:
    """The folders of PATH in the project. Links to it from outside change with consent only."""
    real = os.path.realpath(cwd)
    return tuple(
        folder
        for folder in program_folders
        if not folder.startswith("/")
        or is_below(os.path.normpath(folder), cwd)
        or is_below(os.path.realpath(folder), real)
    )


def makes_links(part: CommandPart) -> bool:
    """Whether a part may make links, or unpack some."""
    name = base_name(part.name or "")
    if name == "cp":
        return any(_LINKING.match(word.literal or word.prefix or "-") for word in part.arguments)
    return name in ("ln", "link", "mv", "rsync", "tar", "bsdtar", "unzip", "cpio", "mount")


def written_words(part: CommandPart) -> tuple[CommandWord, ...] | None:
    """The words that name all files that a part changes; ``None`` if that is not known."""
    options = _WRITERS.get(part.name or "")
    if part.more_arguments or any(word.literal is None for word in part.arguments):
        return None
    texts = [word.literal or "" for word in part.arguments]
    if options is None:
        return _edited_in_place(part) if part.name == "sed" else _options_of_readers(part)
    operands = tuple(word for word in part.arguments if not word.may_be_option)
    flags = [text for text in texts if text.startswith("-")]
    if not all(options.fullmatch(text) for text in flags):
        return None
    return operands or None


def _edited_in_place(part: CommandPart) -> tuple[CommandWord, ...] | None:
    """The files of ``sed -i``; the parser has checked that the script only substitutes."""
    arguments = part.arguments
    flags = [word.literal for word in arguments if word.may_be_option]
    operands = [word for word in arguments if not word.may_be_option]
    if "-i" not in flags or not set(flags) <= {"-i", "-E", "-r", "-e", "-n"}:
        return None
    return tuple(operands[1:]) or None


def _options_of_readers(part: CommandPart) -> tuple[CommandWord, ...] | None:
    """The files of ``sort -o``, ``uniq IN OUT`` and ``xxd -r``: all words count as written."""
    name = part.name
    texts = [word.literal or "" for word in part.arguments]
    if name == "sort" and all(re.fullmatch(r"-[bdfghinrsuVo]+|[^-].*", text) for text in texts):
        return tuple(word for word in part.arguments if not word.may_be_option)
    if name == "uniq" and all(re.fullmatch(r"-[cdiuD]+|[^-].*", text) for text in texts):
        return tuple(word for word in part.arguments if not word.may_be_option)
    if name == "xxd" and all(re.fullmatch(r"-[rp]+|[^-].*", text) for text in texts):
        return tuple(word for word in part.arguments if not word.may_be_option)
    return None


# Git ----------------------------------------------------------------------------------------------

_COMMIT = r"-(?:m|am|qm|qam|a|q|s)|--(?:message=.*|amend|no-edit|all|quiet|signoff|allow-empty)"
_GIT_CHANGES: dict[str, re.Pattern[str]] = {
    "add": re.compile(r"-[AuvfN]+|--all|--update|--verbose|--intent-to-add|--"),
    "commit": re.compile(_COMMIT),
    "switch": re.compile(r"-c|--create"),
    "checkout": re.compile(r"-b"),
    "branch": re.compile(r"-m"),
    "tag": re.compile(r"-a|-m"),
    "stash": re.compile(r"-u|-q|-m"),
    "mv": re.compile(r"-[vk]"),
    "restore": re.compile(r"--staged"),
}
"""Commands of git that only change the repository, and lose nothing, with their options."""
_NEEDED = {
    "checkout": ("-b",), "restore": ("--staged",), "switch": ("-c", "--create"),
    "commit": ("-m", "-am", "-qm", "-qam", "--message", "--no-edit"),
}  # fmt: skip
"""Options of which one is needed: others would open an editor, or lose changes."""
_MESSAGE = ("-m", "-am", "-qm", "-qam")
_STASH = ("push", "pop", "apply")


def changes_repository(arguments: Sequence[CommandWord]) -> bool:
    """Whether a command of git changes the repository alone, in a way that can be taken back."""
    command = arguments[0].literal if arguments else None
    options = _GIT_CHANGES.get(command or "")
    if options is None:
        return False
    texts = [word.literal for word in arguments[1:]]
    if any(
        text is None and word.may_be_option for text, word in zip(texts, arguments[1:], strict=True)
    ):
        return command == "commit" and _is_message(arguments[1:])
    flags = [text for text in texts if text is not None and text.startswith("-")]
    if not all(options.fullmatch(flag) for flag in flags):
        return False
    if command == "stash" and texts and texts[0] not in _STASH:
        return False
    if command in ("switch", "checkout") and len(texts) != len(flags) + 1:
        return False  # another commit would change the files
    needed = _NEEDED.get(command or "", ())
    return not needed or any(flag.partition("=")[0] in needed for flag in flags)


_WORK_TREE = _names(
    "apply am checkout switch restore reset merge rebase pull stash clean revert cherry-pick "
    "read-tree checkout-index sparse-checkout submodule"
)
"""Commands of git that change files of the work tree."""
_KEEPS_FILES = re.compile(
    r"(?:switch|checkout) -[cb] \S+\Z|stash (?:list|show|drop|clear)|reset --soft|clean -n"
)


_EXTRACTING = re.compile(r"-?(?!-)\w*x|--extract|--get")


def changes_unnamed_files(part: CommandPart) -> bool:
    """Whether a command changes files whose names are in its input: patches, archives, commits."""
    name = base_name(part.name or "")
    texts = [word.literal or "" for word in part.arguments]
    if name in ("tar", "bsdtar"):
        return any(map(_EXTRACTING.match, texts[:1]))
    if name in ("patch", "cpio", "7z", "7za", "unzip"):
        return name in ("patch", "cpio") or uses_archive(part)
    if name != "git" or "--" in texts[:-1] or "--staged" in texts:
        return False
    tokens = without_global_options(texts)
    return bool(tokens) and tokens[0] in _WORK_TREE and not _KEEPS_FILES.match(" ".join(tokens))


def has_protected_files(base_folders: BaseFolders) -> bool:
    """Whether the project has files that decide what runs later, which ``git stash`` may change."""
    for pattern in (".[!.]*", ".[!.]*/*", "*.json", "*.y*ml"):
        for path in Path(base_folders.cwd).glob(pattern):
            if ".git" in path.relative_to(base_folders.cwd).parts:
                continue
            if is_protected(touched(str(path), base_folders.cwd, base_folders), base_folders):
                return True
    return False


def _is_message(arguments: Sequence[CommandWord]) -> bool:
    """Whether the only unknown word is the text behind ``-m``."""
    for before, word in zip((None, *arguments), arguments, strict=False):
        if word.literal is not None:
            if word.may_be_option and not re.fullmatch(_COMMIT, word.literal):
                return False
        elif (
            before is None or before.literal not in ("-m", "-am", "-qm", "-qam") or not word.single
        ):
            return False
    return True
