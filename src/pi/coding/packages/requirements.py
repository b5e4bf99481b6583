"""What a package may require: names and versions of PEP 508, nothing that has to be built. Pure.

pip would take a path, a URL or a repository for a requirement too, and run the code of its build.
"""

from __future__ import annotations

import re

from pi.base.terminal_text import one_line
from pi.coding.packages.errors import InstallFailed
from pi.coding.packages.source import without_password

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_EXTRAS = rf"\[\s*(?:{_NAME}(?:\s*,\s*{_NAME})*)?\s*\]"
_VERSION = r"(?:===|~=|==|!=|<=|>=|<|>)\s*[\w.*+!-]+"
_VERSIONS = rf"{_VERSION}(?:\s*,\s*{_VERSION})*"
_MARKER = r";[\w\s.'\"()<>=!~,*+-]*"
# Not compiled: most starts of pi read no requirement.
_REQUIREMENT = (
    rf"(?a)\s*(?P<name>{_NAME})\s*(?:{_EXTRAS})?\s*"
    rf"(?:{_VERSIONS}|\(\s*{_VERSIONS}\s*\))?\s*(?:{_MARKER})?"
)
_LONGEST = 1000
_SHOWN = 200


def must_be_named(requirement: object, package: str) -> str:
    """``requirement`` if it is a name with versions; ``InstallFailed`` names both otherwise."""
    if not isinstance(requirement, str):
        raise InstallFailed(f"{package} requires {requirement!r}, which is not text.")
    if len(requirement) > _LONGEST or not re.fullmatch(_REQUIREMENT, requirement):
        raise not_from_an_index(requirement, package)
    return requirement


def requirement_name(requirement: str) -> str:
    """The name that a requirement begins with; empty if it begins with something else."""
    found = re.match(rf"(?a)\s*({_NAME})", requirement)
    return found[1] if found else ""


def not_from_an_index(requirement: str, package: str) -> InstallFailed:
    """The refusal of a path, a URL or a repository that ``package`` requires."""
    return InstallFailed(
        f'{one_line(package)} requires "{without_password(requirement)[:_SHOWN]}", which is not a'
        " name and version of a package index; nothing was installed.",
        hint="Only what an index has by name is installed: building anything else runs its code.",
    )
