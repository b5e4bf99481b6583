"""The shell code that keeps one bash alive between commands.

The bash is not interactive: without a terminal an interactive one reports failures of
``tcsetattr``, prints ``exit`` and job numbers, and hides ``Killed``. What it lacks is added here:

- ``exit``, ``set -e``, ``set -u`` and ``${x:?}`` end such a shell. A trap on EXIT replaces it by a
  new bash in the same process, with the same variables, functions, aliases, options and traps. Only
  jobs and the stack of folders are lost. A command that sets its own trap on EXIT and exits ends
  the shell; a trap that it leaves behind runs at the end of the shell.
- SIGINT does not abandon a command. A trap turns it into ``exit 130``.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

OUTPUT, COMMANDS, STATE = 250, 251, 249
"""Descriptors: the output pipe, the pipe with the commands, and the state while bash is replaced.

Scripts use small numbers, bash those from 10. Commands inherit them: bash cannot close a descriptor
for its children only, and the trap may need both at any moment.
"""
LOOP = (
    f"exec {OUTPUT}>&1 {COMMANDS}<&0 </dev/null >/dev/null 2>&1; "
    # Without input the shell ends for good; after a stray `break` it is replaced.
    rf"while IFS= \read -r -d '' __pi_line <&{COMMANDS} || {{ __pi_call=; false; }}; "
    r'do \eval "$__pi_line"; __pi_code=$?; done'
)
"""The program of the shell: commands end with a zero byte. On one line, so that error messages have
the line numbers of the command."""
ARGUMENTS = ("--norc", "--noprofile", "-c", LOOP)
LOGIN_ARGUMENTS = ("-l", "-c", LOOP)

START = rf"""
unset -v HISTFILE
__pi_exit() {{
  __pi_code=$?
  # A child that is killed before it has reset its traps runs them, too.
  [ "${{BASHPID-$$}}" = "$$" ] || return
  trap : INT
  [ -n "${{__pi_call-}}" ] || {{ [ -z "${{__pi_trap-}}" ] || ( \eval "$__pi_trap" ); return; }}
  BASH_ENV=/dev/fd/{STATE} exec -a "$0" \
    "$BASH" --norc --noprofile -c "$BASH_EXECUTION_STRING" "$0" \
    <&{COMMANDS} >&{OUTPUT} 2>/dev/null {STATE}<<<"$(__pi_state)"
}}
__pi_state() {{
  # Aliases would change functions that are read after them.
  shopt -p; declare -f; declare -xF; alias -p; trap -p
  echo 'unset -v BASH_ENV'
  declare -p
  # Removing a local variable reveals that of the caller, in the end the global one.
  for __pi_depth in "${{FUNCNAME[@]}}"; do
    __pi_names=$(compgen -v)
    \eval "unset -v ${{__pi_names//$'\n'/ }}"
    declare -p
  done
  echo 'exec {STATE}<&-; unset -v __pi_depth __pi_names; __pi_arm'
  # ``set +o posix`` switches aliases off.
  set +o; shopt -p expand_aliases
}}
__pi_keep_trap() {{
  case $(trap -p EXIT) in
    "trap -- '__pi_exit' EXIT") ;;
    *) __pi_trap=$(trap -p EXIT); trap __pi_exit EXIT ;;
  esac
}}
__pi_arm() {{
  trap __pi_exit EXIT
  trap '[ -z "${{__pi_call-}}" ] || exit 130' INT
}}
__pi_arm
"""


def start_code(setup: str) -> str:
    """Return the first input of a shell; ``setup`` is shell code whose output is dropped."""
    run_setup = f"{{ \\eval {shlex.quote(setup)}; }} </dev/null >/dev/null\n" if setup else ""
    return f"{START}{run_setup}shopt -s expand_aliases"


def command_code(command: str, *, status: int, env: Mapping[str, str], cwd: str | None) -> str:
    """Return the input that runs a command; it sees ``status`` as ``$?``."""
    prepare = "".join(
        # Not as ``NAME=value eval``: after an ``exit`` these would stay. A semicolon would be a
        # syntax error after a variable that was not set.
        f"__pi_saved+=$'\\n'\"$(\\declare -p {name})\"; \\export {name}={shlex.quote(value)}; "
        for name, value in env.items()
    )
    if prepare:
        prepare = f"__pi_saved='unset -v {' '.join(env)}'; {prepare}"
    if cwd is not None:
        prepare += f"\\builtin cd -- {shlex.quote(cwd)}; "
    # With || it neither ends a shell with ``set -e`` nor runs a trap on ERR.
    result = f"(exit {status}) || " if status else ""
    return (
        f"__pi_call=1; {prepare}{{ {result}\\builtin eval {shlex.quote(command)}; }}"
        f" </dev/null >&{OUTPUT} 2>&1"
    )


def marker_code(name: str, *, command: str) -> str:
    """Return the input that writes the marker: exit code and folder between two ``name``."""
    keep_trap = "__pi_keep_trap; " if "trap" in command else ""  # it starts a process
    return (
        f"{keep_trap}\\builtin printf '\\036%s %s %s %s\\036' "
        f'{name} "$__pi_code" "${{PWD-}}" {name} >&{OUTPUT};'
        ' \\eval "${__pi_saved-}"; \\unset -v __pi_call __pi_saved'
    )


def folder_code(cwd: str) -> str:
    """Return the input that changes the folder without output."""
    return f"\\builtin cd -- {shlex.quote(cwd)}"
