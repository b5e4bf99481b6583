"""Tables of programs that run other programs or code."""

from __future__ import annotations

import re

from pi.base.records import Record

SHELLS = frozenset(
    {"sh", "bash", "dash", "ash", "ksh", "mksh", "rbash", "zsh", "fish", "csh", "tcsh"}
)


class Wrapper(Record):
    """A program that runs the command in its arguments."""

    flags: str = ""
    """Letters of options without a value."""
    values: str = ""
    """Letters of options with a value."""
    names: tuple[str, ...] = ()
    """Long options without a value."""
    named_values: tuple[str, ...] = ()
    """Long options with a value."""
    positionals: int = 0
    """Arguments before the command."""
    assigns: bool = False
    """Whether ``NAME=value`` may precede the command."""
    appends: bool = False
    """Whether it appends arguments to the command."""
    replaces: bool = False
    """Whether it may replace a mark in the command."""
    numbers: bool = False
    """Whether ``-10`` is an option."""

    def option(self, text: str) -> int | None:
        """Return how many words an option takes; ``None`` if it is not known."""
        if text.startswith("--"):
            name, equals, _ = text.partition("=")
            if name in self.named_values:
                return 1 if equals else 2
            return 1 if name in self.names else None
        if self.numbers and re.fullmatch(r"-\d+", text):
            return 1
        for word_end, letter in enumerate(text[1:], start=2):
            if letter in self.values:
                return 1 if word_end < len(text) else 2
            if letter not in self.flags:
                return None
        return 1


WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(
        flags="i0v",
        values="uC",
        names=("--ignore-environment", "--null", "--debug"),
        named_values=("--unset", "--chdir"),
        assigns=True,
    ),
    "sudo": Wrapper(
        flags="AbEHknPS",
        values="CDghpRrtTuU",
        names=("--non-interactive", "--preserve-env", "--set-home", "--stdin"),
        named_values=("--user", "--group", "--chdir", "--host", "--prompt"),
        assigns=True,
    ),
    "doas": Wrapper(flags="Ln", values="Cu"),
    "xargs": Wrapper(
        flags="0prtxo",
        values="IdEaLnPs",
        names=(
            "--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--replace",
        ),
        named_values=(
            "--max-args", "--max-procs", "--max-lines", "--delimiter", "--arg-file", "--max-chars",
            "--eof",
        ),
        appends=True,
        replaces=True,
    ),
    "nice": Wrapper(values="n", named_values=("--adjustment",), numbers=True),
    "nohup": Wrapper(),
    "setsid": Wrapper(flags="cfw", names=("--ctty", "--fork", "--wait")),
    "ionice": Wrapper(flags="t", values="cn", named_values=("--class", "--classdata")),
    "prlimit": Wrapper(
        names=(
            "--core", "--data", "--nice", "--fsize", "--sigpending", "--memlock", "--rss",
            "--nofile", "--msgqueue", "--rtprio", "--stack", "--cpu", "--nproc", "--as", "--locks",
            "--rttime", "--noheadings", "--raw", "--verbose",
        ),
    ),
    "choom": Wrapper(values="n", named_values=("--adjust",)),
    "chrt": Wrapper(flags="bfior", positionals=1),
    "taskset": Wrapper(flags="c", names=("--cpu-list",), positionals=1),
    "time": Wrapper(flags="pva", values="fo"),
    "timeout": Wrapper(
        flags="v",
        values="ks",
        names=("--foreground", "--preserve-status", "--verbose"),
        named_values=("--kill-after", "--signal"),
        positionals=1,
    ),
    "stdbuf": Wrapper(values="ioe", named_values=("--input", "--output", "--error")),
    "command": Wrapper(flags="pvV"),
    "builtin": Wrapper(),
    "exec": Wrapper(flags="cl", values="a"),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "caffeinate": Wrapper(flags="dimsu", values="tw"),
}  # fmt: skip


LAUNCHERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "npm": (("exec",), ("x",)),
    "pnpm": (("exec",), ("dlx",)),
    "yarn": (("exec",), ("dlx",), ("run",)),
    "bun": (("x",), ("run",)),
    "npx": ((),),
    "bunx": ((),),
    "uvx": ((),),
    "uv": (("run",), ("tool", "run")),
    "pipx": (("run",),),
    "rustup": (("run",),),
    "ip": (("netns", "exec"),),
    "op": (("run",),),
    **dict.fromkeys(("pyenv", "rbenv", "nodenv", "goenv", "jenv", "plenv"), (("exec",),)),
    **dict.fromkeys(("poetry", "pipenv", "hatch", "pdm", "rye", "pixi", "volta"), (("run",),)),
    **dict.fromkeys(("conda", "mamba", "micromamba"), (("run",),)),
    **dict.fromkeys(("bundle", "fnm", "asdf", "stack", "cabal", "opam", "chamber"), (("exec",),)),
    **dict.fromkeys(("mise", "rtx"), (("exec",), ("x",))),
    **dict.fromkeys(("dotenv", "doppler", "infisical", "foreman", "honcho"), (("run",),)),
}
"""Programs that run another one behind these words, and do more than that: they install it, or
change its environment. A rule about them covers what they run."""
LAUNCHED = frozenset(
    " ".join((name, *start)) for name, starts in LAUNCHERS.items() for start in starts
)
"""How ``CommandPart.inside`` names them."""
LOADER = re.compile(r"ld(?:-linux[\w-]*|-musl[\w-]*|\d*)?\.so[.\d]*|ld-[\d.]+\.so")
"""The dynamic loader, which runs the program that it is given."""


class Interpreter(Record):
    """Options of an interpreter that run no inline code."""

    harmless: frozenset[str] = frozenset()
    """Options that may precede the name of a script."""
    ending: frozenset[str] = frozenset({"--version", "-V", "-v", "--help", "-h"})
    """Options with which it runs nothing."""
    has_modules: bool = False
    """Whether ``-m`` names a module."""


_PYTHON = Interpreter(
    harmless=frozenset({"-u", "-B", "-E", "-s", "-S", "-I", "-O", "-OO", "-q", "-P", "-b"}),
    ending=frozenset({"--version", "-V", "-VV", "--help", "-h"}),
    has_modules=True,
)
INTERPRETERS: dict[str, Interpreter] = {
    "python": _PYTHON,
    "pypy": _PYTHON,
    "perl": Interpreter(harmless=frozenset({"-w", "-W", "-t", "-T"})),
    "ruby": Interpreter(harmless=frozenset({"-w", "-W"}), ending=frozenset({"--version"})),
    "node": Interpreter(harmless=frozenset({"--test", "--check", "--no-warnings", "--watch"})),
    "nodejs": Interpreter(),
    "php": Interpreter(harmless=frozenset({"-f", "-l", "-q"})),
    "lua": Interpreter(ending=frozenset({"-v"})),
    "luajit": Interpreter(ending=frozenset({"-v"})),
    "rscript": Interpreter(harmless=frozenset({"--vanilla"})),
    "tclsh": Interpreter(),
    "osascript": Interpreter(ending=frozenset()),
    "pwsh": Interpreter(ending=frozenset({"--version"})),
    "powershell": Interpreter(ending=frozenset()),
    "ipython": Interpreter(ending=frozenset({"--version"})),
}

CODE_RUNNERS = frozenset({"awk", "gawk", "mawk", "nawk", "sed", "gsed"})
"""Programs whose first argument is a script."""

_SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
SED_COMMAND = re.compile(
    rf"[ \t]*(?:{_SED_ADDRESS}(?:,[ \t]*{_SED_ADDRESS})?)?[ \t]*!?[ \t]*"
    r"(?:[pdDqQ=nNhHgGx]|"
    r"[sy]([/|#,:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI\d]*)[ \t]*(?:[;\n]+|\Z)"
)
"""A command of ``sed`` that only prints, deletes or substitutes."""

OTHER_RUNNERS = frozenset({
    "aa-exec", "at", "autossh", "batch", "bwrap", "capsh", "cgexec", "chpst", "chronic", "cpulimit",
    "cross-env", "dbclient", "dc", "dumb-init", "eatmydata", "envchain", "envdir", "execlineb",
    "heaptrack", "hyperfine", "i386", "ifne", "inotifyd", "lxc-attach", "lxc-execute", "m4",
    "mispipe", "nodemon", "numactl", "pee", "rr", "run-parts", "run0", "runcon", "runc", "crun",
    "scl", "setlock", "setuidgid", "sg", "newgrp", "softlimit", "sshpass", "systemd-cat",
    "systemd-inhibit", "systemd-nspawn", "taskset64", "tini", "torify", "tsocks", "uftrace",
    "uname26", "unzipsfx", "watchexec", "wish", "x86_64", "xdg-open",
    "chroot", "crontab", "daemonize", "dbus-run-session",
    "direnv", "ed", "emacs", "entr", "ex", "expect", "fakechroot", "fakeroot", "faketime",
    "firejail", "flock", "gdb", "gosu", "gvim", "linux32", "linux64", "lldb", "ltrace", "nc",
    "ncat", "netcat", "nsenter", "nvim", "parallel", "perf", "pkexec", "proot", "proxychains",
    "proxychains4", "rlwrap", "runuser", "screen", "script", "setarch", "setpriv", "socat",
    "ssh-agent", "start-stop-daemon", "strace", "su", "su-exec", "systemd-run", "tmux", "torsocks",
    "unbuffer", "unshare", "valgrind", "vi", "view", "vim", "vimdiff", "watch", "xvfb-run",
})  # fmt: skip
"""Programs that run commands in ways that are not modelled."""

RUNNING_OPTIONS: dict[str, tuple[str, ...]] = {
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "fdfind": ("-x", "-X", "--exec", "--exec-batch"),
    "tar": (
        "-I", "-F", "--to-command", "--checkpoint-action", "--use-compress-program",
        "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command",
    ),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "ssh": ("-o", "-F"),
    "scp": ("-o", "-F", "-S"),
    "sftp": ("-o", "-F", "-S", "-b", "-D"),
    "rg": ("--pre", "--hostname-bin"),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "man": ("-P", "-H", "--pager", "--html"),
    "less": ("+",),
    "zip": ("-T", "-TT", "--unzip-command"),
    "wget": ("-e", "--execute", "--use-askpass"),
    "make": ("--eval", "SHELL", "MAKEFLAGS", "-E"),
    "gmake": ("--eval", "SHELL", "MAKEFLAGS", "-E"),
    "cmake": ("-E", "-P"),
    "go": ("-exec", "-toolexec", "generate"),
    "cargo": ("--config",),
    "ip": ("netns", "vrf", "-batch", "-b"),
    "openssl": ("engine", "-engine"),
    "sqlite3": ("-cmd", "-init", ".s"),
    "psql": ("\\!", "-f"),
    "mysql": ("\\!",),
    "docker": ("exec",),
    "deno": ("eval", "repl"),
    "bun": ("-e", "--eval", "-p", "--print", "exec"),
}  # fmt: skip
"""Options (and first words) with which a program runs a command."""

HARMLESS_GIT_SETTINGS = re.compile(
    r"(?:-c)?(?:user\.(?:name|email)|color\.[\w.]+|core\.(?:quotepath|autocrlf|abbrev|filemode)"
    r"|advice\.\w+|init\.defaultbranch|commit\.gpgsign|tag\.gpgsign|log\.\w+|gc\.auto"
    r"|diff\.(?:renames|algorithm|noprefix)|safe\.directory|protocol\.file\.allow)=",
    re.IGNORECASE,
)
