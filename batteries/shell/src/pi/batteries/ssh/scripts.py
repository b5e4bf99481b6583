"""Scripts that run on a host, and the arguments of ssh. Pure.

A script is sent on standard input, never on a command line: the login shell of the host, which may
be any shell, sees only ``STARTER`` with a number in it. Paths are quoted for ``sh``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote

from pi.extension import Record, one_line

HOST = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}@)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")
"""A name of ``~/.ssh/config``, possibly with a user. No dash in front: it would be an option."""
STARTER = """exec sh -c 'eval "$(dd bs=1 count={size} 2>/dev/null)"'"""
"""``dd`` with blocks of one byte leaves the rest of the input to the script."""
MAX_READ = 10 * 1024**2
"""Bytes of a file that are read."""
BLOCK = 64 * 1024

NOT_FOUND, FOLDER, SPECIAL, DENIED, NOT_WRITTEN, CUT_OFF, NO_FOLDER = 93, 94, 95, 96, 97, 98, 99
FAILURES = {
    NOT_FOUND: "does not exist.",
    FOLDER: "is a folder.",
    SPECIAL: "is neither a file nor a folder.",
    DENIED: "may not be read by this user.",
    NOT_WRITTEN: "could not be written: {stderr}",
    CUT_OFF: "was not written: the connection ended before all of the content had arrived.",
    NO_FOLDER: "is not a folder.",
}
"""Messages by exit code of our scripts."""

COMMON = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "Tunnel=no",
    "GSSAPIDelegateCredentials=no",
    "ForkAfterAuthentication=no",
    "LogLevel=ERROR",
)
"""Options of every ssh that is started. The command line overrides configuration files.

ssh asks for no password and adds or changes no host key, and the host gets no access to the ssh
agent, the X display or the ports of this machine.
"""


class Target(Record):
    """A host and the options to connect to it."""

    host: str
    config_file: str = ""
    """Replaces the configuration files of the user and the system; empty to use those."""
    connect_seconds: int = 15


def master_arguments(target: Target, socket: str) -> list[str]:
    """The command line of the shared connection. It writes a line when it is connected."""
    own = (
        *COMMON,
        f"ConnectTimeout={target.connect_seconds}",
        "ConnectionAttempts=1",
        "ServerAliveInterval=15",
        "ServerAliveCountMax=3",
        "ControlMaster=yes",
        "ControlPersist=no",
        "PermitLocalCommand=yes",
        "LocalCommand=echo connected",
    )
    return _arguments(target, socket, ["-N", "-T"], own)


def call_arguments(target: Target, socket: str, script: str) -> list[str]:
    """The command line that runs a script, only over the shared connection."""
    own = (
        *COMMON,
        "ControlMaster=no",
        "PermitLocalCommand=no",
        "RemoteCommand=none",
        "RequestTTY=no",
        # Prevents a new connection if the shared one is down.
        "ProxyCommand=false",
    )
    starter = STARTER.format(size=len(script.encode()))
    return [*_arguments(target, socket, ["-T"], own), starter]


def check_arguments(target: Target, socket: str) -> list[str]:
    """The command line that checks the shared connection: exit code 0 if it is up."""
    return _arguments(target, socket, ["-O", "check"], COMMON)


def _arguments(
    target: Target, socket: str, flags: Sequence[str], options: Sequence[str]
) -> list[str]:
    config = ["-F", target.config_file] if target.config_file else []
    pairs = [word for option in options for word in ("-o", option)]
    return ["ssh", *config, *flags, "-S", socket, *pairs, "--", target.host]


# Scripts ------------------------------------------------------------------------------------------


def path_word(path: str) -> str:
    """Quote a path for ``sh``; paths that are not absolute are relative to the home folder."""
    if path in ("", "~", "~/"):
        return '"$HOME"'
    if path.startswith("~/"):
        return f'"$HOME"/{quote(path[2:])}'
    return quote(path) if path.startswith("/") else f'"$HOME"/{quote(path)}'


def command_script(command: str, folder: str = "") -> str:
    """Script that runs a command line with bash, or sh without bash, and exits with its code.

    The command has a process group of its own. It is killed when standard input ends, i.e. when
    the call is aborted or the connection is lost.
    """
    change = f"cd -- {path_word(folder)} 2>/dev/null || exit {NO_FOLDER}\n" if folder else ""
    return f"""exec 2>&1
{change}exec 3<&0
if command -v bash >/dev/null; then s=bash; else s=sh; fi
if command -v setsid >/dev/null; then g=-; setsid "$s" -c {quote(command)} </dev/null 3<&- &
else g=; "$s" -c {quote(command)} </dev/null 3<&- & fi
p=$!
(cat <&3; kill -TERM "$g$p"; sleep 2; kill -KILL "$g$p") >/dev/null 2>&1 &
w=$!
exec 3<&-
wait "$p"; c=$?
kill "$w" 2>/dev/null
exit "$c"
"""


def read_script(path: str) -> str:
    """Script that writes the size of a file in one line, then its first ``MAX_READ`` bytes."""
    return f"""f={path_word(path)}
[ -e "$f" ] || exit {NOT_FOUND}
[ -d "$f" ] && exit {FOLDER}
[ -f "$f" ] || exit {SPECIAL}
[ -r "$f" ] || exit {DENIED}
wc -c <"$f" || exit {DENIED}
dd if="$f" bs={BLOCK} count={MAX_READ // BLOCK} 2>/dev/null
"""


def list_script(path: str) -> str:
    """Script that lists a folder, one name per line; names of folders end with a slash."""
    return f"""f={path_word(path)}
[ -e "$f" ] || exit {NOT_FOUND}
[ -d "$f" ] || exit {NO_FOLDER}
ls -1Apq "$f/" || exit {DENIED}
"""


def write_script(path: str, size: int) -> str:
    """Script that replaces a file atomically with ``size`` bytes of standard input.

    Links are followed, the mode is kept, and missing folders are created.
    """
    return f"""f={path_word(path)}
if [ -L "$f" ]; then f=$(readlink -f "$f") || exit {SPECIAL}; fi
[ -d "$f" ] && exit {FOLDER}
if [ -e "$f" ] && [ ! -f "$f" ]; then exit {SPECIAL}; fi
d=$(dirname "$f")
mkdir -p "$d" || exit {NOT_WRITTEN}
t=$(mktemp "$d/.pi-XXXXXXXX") || exit {NOT_WRITTEN}
trap 'rm -f "$t"' EXIT
trap 'exit {CUT_OFF}' HUP INT TERM
if [ -e "$f" ]; then cp -p "$f" "$t" || exit {NOT_WRITTEN}
else chmod "$(printf %o $((0666 & ~$(umask))))" "$t" || exit {NOT_WRITTEN}; fi
cat >"$t" || exit {NOT_WRITTEN}
[ "$(wc -c <"$t")" -eq {size} ] || exit {CUT_OFF}
mv -f "$t" "$f" || exit {NOT_WRITTEN}
"""


# Failures -----------------------------------------------------------------------------------------

_CONNECTING = (
    (
        "IDENTIFICATION HAS CHANGED",
        "The key of {host} is another one than before. Another machine may answer in its place."
        " The user has to look into this; do not work around it.",
    ),
    (
        "host key is known",
        "The key of {host} is not known. The user connects once with ssh {host} and checks it; pi"
        " never adds keys.",
    ),
    (
        "Host key verification failed",
        "The key of {host} is not accepted. The user connects once with ssh {host} and checks it.",
    ),
    (
        "Permission denied",
        "{host} does not accept the keys of the user. A key with a passphrase has to be in the ssh"
        " agent; no password is asked for.",
    ),
    ("Could not resolve hostname", "The name of {host} cannot be resolved."),
    ("Connection refused", "Nothing answers at {host}: the connection is refused."),
    ("timed out", "{host} does not answer."),
    ("Bad configuration option", "The ssh configuration has an error."),
    ("Bad owner or permissions", "The ssh configuration has an error."),
)


def connection_failure(host: str, stderr: str) -> str:
    """The reason of a failed connection, from the error output of ssh."""
    lines = [one_line(line).strip() for line in stderr.splitlines() if line.strip("@ \t")]
    last = lines[-1][:300] if lines else "ssh ended without a message"
    for part, text in _CONNECTING:
        if part in stderr:
            return f"{text.format(host=host)} ({last})"
    return f"Cannot connect to {host}: {last}"
