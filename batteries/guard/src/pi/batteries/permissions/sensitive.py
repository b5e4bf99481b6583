"""Files that look like credentials, by their names, and the variables that they set. Pure."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from fnmatch import translate
from pathlib import Path, PurePath

_NAMES = (
    *(".env", ".env.*", "*.env", ".envrc"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.ppk"),
    *("*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("credentials", "credentials.*", ".credentials", ".credentials.*", ".git-credentials"),
    *("*secrets.yml", "*secrets.yaml", "*secrets.json", "*secrets.toml", ".secrets"),
    *(".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".htpasswd", ".dockercfg"),
    *(".vault-token", "kubeconfig", "*.tfstate", "*.tfvars", "service-account*.json"),
    *("application_default_credentials.json", "client_secret*.json", "*-adminsdk-*.json"),
    *(".dev.vars", ".s3cfg", ".boto", "rclone.conf", "local.settings.json", ".terraformrc"),
)
_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", "gcloud", ".password-store"})
"""Everything in them counts, but what ``_HARMLESS`` names."""
_PATHS = (
    *(".docker/config.json", ".config/gh/hosts.yml", ".codex/auth.json", "agent/auth.json"),
    *(".composer/auth.json", ".m2/settings.xml", ".config/hub", ".config/doctl/config.yaml"),
    *(".cargo/credentials.toml", ".terraform.d/credentials.tfrc.json", ".oci/config"),
)
_HARMLESS = (
    *("*.example", "*.sample", "*.template", "*.dist", "*.defaults", "*.schema", "*.md"),
    *("*.pub", "known_hosts", "known_hosts.*", "authorized_keys"),
    *("*cert*.pem", "*chain*.pem", "*ca.pem", "ca-*.pem", "ca_*.pem", "*public*.pem", "*pub.pem"),
    *("*.env.py", "*.env.ts", "*.env.js", "*.env.d.ts", "*.env.mjs", "*.env.cjs"),
)
# One pattern each: a search asks about every file.
_NAMES_PATTERN = re.compile("|".join(map(translate, _NAMES)))
_HARMLESS_PATTERN = re.compile("|".join(map(translate, _HARMLESS)))
_BACKUP = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|sw[a-p]))\Z")
"""What editors and people append to the name of a copy."""
_ENVIRONMENT = re.compile(r"/proc/[^/]+(?:/task/\d+)?/environ\Z")
"""The variables of a process, among which are those that pi withholds from commands."""
MAX_NAMES = 50
_VARIABLE = re.compile(
    r"^[ \t]*(?:export[ \t]+|set[ \t]+)?[\"']?([A-Za-z_][A-Za-z0-9_.-]{0,80})[\"']?[ \t]*[=:]",
    re.MULTILINE,
)


def is_sensitive(*paths: str) -> bool:
    """Whether one of the names of a file is that of a file with credentials."""
    return any(map(_is_sensitive, paths))


def _is_sensitive(path: str) -> bool:
    # Not with ``PurePath``, which takes ten times as long: a search asks about every file.
    parts = [part for part in path.casefold().replace(os.sep, "/").split("/") if part]
    if not parts:
        return False
    parts[-1] = _BACKUP.sub("", parts[-1]) or parts[-1]
    name, folders = parts[-1], parts[:-1]
    is_named = _NAMES_PATTERN.match(name) or not _FOLDERS.isdisjoint(folders)
    if is_named or "/".join(parts).endswith(_PATHS) or _ENVIRONMENT.match(path):
        return not _HARMLESS_PATTERN.match(name)
    return False


MAX_LINKED = 5000
"""Maximum of files that are compared with a file that has several names (hard links)."""


def has_sensitive_name(path: str) -> bool:
    """Whether a file has another name, in its folder or above, that is that of credentials."""
    try:
        status = Path(path).stat()
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return False
        count = 0
        for folder in (*Path(path).parents[:2],):
            for other in folder.iterdir():
                count += 1
                is_same = is_sensitive(str(other)) and other.lstat().st_ino == status.st_ino
                if is_same or count > MAX_LINKED:
                    return is_same
    except (OSError, ValueError):
        pass
    return False


def sensitive_folder(path: str) -> bool:
    """Whether everything in a folder counts as credentials."""
    return PurePath(path).name.casefold() in _FOLDERS


def variable_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names of the variables that texts set, without their values."""
    names = dict.fromkeys(match[1] for text in texts for match in _VARIABLE.finditer(text))
    return tuple(names)[:MAX_NAMES]
