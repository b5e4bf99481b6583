"""Files and folders with the credentials of a user. Pure.

The sandbox keeps commands from reading them; what they contain could be sent, or used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_OF_HOME = (
    *(
        ".ssh",
        ".aws",
        ".azure",
        ".gnupg",
        ".kube",
        ".oci",
        ".password-store",
        ".docker/config.json",
    ),
    *(".config/gcloud", ".config/gh/hosts.yml", ".config/glab-cli", ".config/hub", ".config/op"),
    *(".config/rclone", ".config/doctl", ".config/git/credentials", ".config/containers/auth.json"),
    *(".config/pip/pip.conf", ".config/sops", ".config/age", ".config/github-copilot"),
    *(".netrc", "_netrc", ".git-credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".pip/pip.conf"),
    *(".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".vault-token", ".dockercfg"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml"),
    *(".terraform.d/credentials.tfrc.json", ".terraformrc", ".gradle/gradle.properties"),
    *(".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium"),
    *("Library/Keychains", "Library/Application Support/Google/Chrome"),
    *(".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json"),
    *(".local/share/opencode/auth.json", ".bash_history", ".zsh_history", ".python_history"),
)
_OF_PI = ("auth.json", "models.json", "extension-data")


def credential_paths(home: Path, agent_dir: Path) -> Iterator[Path]:
    """Yield the paths of credentials of a user and of pi, existing or not."""
    for name in _OF_HOME:
        yield home / name
    for name in _OF_PI:
        yield agent_dir / name
