"""Variables of a command line that decide what runs."""

from __future__ import annotations

import re

_ARITHMETIC_NAME = re.compile(r"(?<![\w#@])(?!0[xX])[A-Za-z_]\w*|\$\(\)|\$[0-9@*!-]|\$\{")
_HEX = re.compile(r"0[xX][0-9A-Fa-f]+|\d+#\w+")

DECIDING_VARIABLES = re.compile(
    r"""
    PATH|IFS|ENV|BASH_.*|BASHOPTS|SHELL|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|POSIXLY_CORRECT|CDPATH
    |EXECIGNORE|GLOBIGNORE|FPATH|ZDOTDIR|INPUTRC|HOME|XDG_CONFIG_.*|LD_.*|DYLD_.*|GCONV_PATH
    |GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT$|OPTIONAL_LOCKS$).*|.*PAGER|LESSOPEN|LESSCLOSE|LESS
    |EDITOR|VISUAL|BROWSER|.*_ASKPASS|RSYNC_.*|TAR_OPTIONS|TAPE|RIPGREP_CONFIG_PATH|GREP_OPTIONS
    |PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$|HASHSEED$|IOENCODING$|UTF8$).*|NODE_OPTIONS|NODE_PATH
    |PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|.*JAVA_OPTIONS|JAVA_TOOL_OPTIONS|.*_OPTS|CLASSPATH|MAKE.*
    |CC|CXX|LD|AR|CARGO_(?!TARGET_DIR$|TERM_.*).*|RUSTC.*|RUSTUP_.*|GO(?:FLAGS|ROOT|TOOLCHAIN)
    |(?i:npm_config_).*|YARN_.*|PIP_.*|UV_.*|TERMINFO.*|LUA_.*|PHP.*|OPENSSL_.*|R_.*|AWKPATH
    """,
    re.VERBOSE,
)
"""Variables that decide which program runs, or make a program run another one."""


class Names:
    """The variables of a line, to judge which expressions are safe to evaluate.

    An expression evaluates the *values* of its variables, and ``a[$(command)]`` in a value runs the
    command. Values that the line sets to anything but a number are therefore a problem.
    """

    def __init__(self) -> None:
        self.assigned: dict[str, bool] = {}
        """Whether all values that the line gives it are numbers."""
        self.evaluated: set[str] = set()
        self.anything_assigned = False
        """Whether variables of unknown names may be set."""

    def assign(self, name: str, value: str | None) -> None:
        """Note that ``name`` is set to ``value``."""
        number = value is not None and re.fullmatch(r"-?\d*", value) is not None
        self.assigned[name] = self.assigned.get(name, True) and number

    def evaluate(self, expression: str) -> None:
        """Note the variables of an expression; ``$()`` is the output of a command."""
        without_numbers = _HEX.sub("0", expression)
        self.evaluated.update(_ARITHMETIC_NAME.findall(without_numbers))

    @property
    def problem(self) -> str:
        """Why an expression of the line may run a command; empty if none can."""
        outside = {"$()", "${", "$@", "$*", "$!", "$-"} | {f"${digit}" for digit in range(10)}
        for name in sorted(self.evaluated):
            if name in outside or self.anything_assigned or not self.assigned.get(name, True):
                return "an arithmetic expression evaluates a value that is not a number"
        return ""
