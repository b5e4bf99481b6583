"""The aliases, functions and options of the user's rc file, read once instead of per command."""

from __future__ import annotations

from pi.extension import ExtensionAPI, PiError, ShellSetup

TIMEOUT_SECONDS = 10.0
"""An rc file that takes longer is ignored."""
MAX_CHARACTERS = 500_000
_MARK = "pi-shell-snapshot"
_SCRIPT = rf"""
printf '%s\n' {_MARK}
alias -p
for name in $(compgen -A function); do
  case $name in _*) ;; *) declare -f -- "$name" ;; esac
done
shopt -p | grep -v -e login_shell -e restricted_shell
set +o | grep -v -e history -e monitor -e histexpand -e emacs -e ' vi$' -e noexec -e onecmd
exit 0
"""
"""Functions that begin with ``_`` are those of completion: many, large, and of no use here."""


async def take_snapshot(pi: ExtensionAPI, setup: ShellSetup) -> str:
    """Return shell code that defines what the rc file defines; empty if that fails.

    Variables are not part of it: an rc file may set credentials that commands must not see.
    """
    env = {**setup.env, "HISTFILE": ""}
    try:
        ran = await pi.exec(
            [setup.path, "-i", "-c", _SCRIPT],
            env=env,
            environment=None,
            timeout=TIMEOUT_SECONDS,
            kind="bash",
        )
    except PiError as error:
        pi.log.info("no snapshot of the shell: %s", error.message)
        return ""
    _, found, text = ran.stdout.partition(f"{_MARK}\n")
    if not found or ran.killed or len(text) > MAX_CHARACTERS:
        why = "timed out" if ran.killed else "too long" if found else "the rc file ended the shell"
        pi.log.info("no snapshot of the shell: %s", why)
        return ""
    return text
