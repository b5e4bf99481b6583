"""Definitions of hooks: parses settings files and hook folders into records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pi.base.formats import parse_jsonc
from pi.extension import BadFormat, Record, field, parse_yaml
from pi.extension.guards import tool_matches

Event: TypeAlias = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
    "Notification",
]
EVENTS: tuple[str, ...] = get_args(Event)
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
HookType: TypeAlias = Literal["command", "http", "prompt", "agent", "mcp_tool"]
_NEEDED = {
    "command": ("command",),
    "http": ("url",),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "mcp_tool": ("server", "tool"),
}
"""Fields that each type of hook needs, as texts."""
_TIMEOUTS: dict[str, float] = {"prompt": 30, "agent": 60}
DEFAULT_TIMEOUT = 600.0
PROMPT_TIMEOUT = 30.0
"""Shorter for prompts: a delay of minutes would look as if pi hangs."""
PROJECT_DIR = "CLAUDE_PROJECT_DIR"
SCRIPT_PROGRAMS = frozenset(
    {"python", "python3", "bash", "sh", "zsh", "node", "bun", "deno", "ruby", "perl", "tsx", "php"}
)
SCRIPT_SUFFIXES = frozenset(
    {".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"}
)
OPERATORS = frozenset(";&|()<>")


class HookDefinition(Record):
    """One hook of one event."""

    event: str
    type: HookType
    matcher: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """The fields of the hook in the file, without its type."""
    source: str = ""
    """The file that defines it."""
    origin: Literal["pi", "claude"] = "pi"
    scope: Literal["user", "project"] = "user"

    def text(self, name: str) -> str:
        """Return a field that is a text; empty if it is missing."""
        value = self.options.get(name)
        return value if isinstance(value, str) else ""

    @property
    def label(self) -> str:
        """The command, address, prompt or tool, for display."""
        if self.type == "mcp_tool":
            return f"{self.text('server')}/{self.text('tool')}"
        return self.text(_NEEDED[self.type][0])

    @property
    def timeout(self) -> float:
        """Seconds after which the hook is stopped."""
        seconds = self.options.get("timeout")
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0:
            return float(seconds)
        usual = PROMPT_TIMEOUT if self.event == "UserPromptSubmit" else DEFAULT_TIMEOUT
        return _TIMEOUTS.get(self.type, usual)

    @property
    def is_async(self) -> bool:
        """Whether the agent continues while it runs."""
        return self.options.get("async") is True and self.type == "command"


class HookFile(Record):
    """The hooks of one file, and its problems."""

    hooks: tuple[HookDefinition, ...] = ()
    problems: tuple[str, ...] = ()
    disabled: bool = False
    """Whether the file has ``disableAllHooks``, or ``hooks: false``."""


def parse_settings(text: str, path: Path, **attributes: Any) -> HookFile:
    """Return the hooks of a settings file: JSON with comments, or YAML.

    ``attributes`` has the fields of ``HookDefinition`` that all of them share.
    """
    try:
        data = parse_yaml(text) if path.suffix in (".yml", ".yaml") else parse_jsonc(text)
    except BadFormat as error:
        return HookFile(problems=(f"{path} {error.message}",))
    if not isinstance(data, dict):
        return HookFile()
    problems: list[str] = []
    hooks = tuple(_hooks(data.get("hooks"), problems, source=str(path), **attributes))
    return HookFile(
        hooks=hooks,
        problems=tuple(f"{path}: {message}" for message in problems),
        disabled=data.get("disableAllHooks") is True or data.get("hooks") is False,
    )


def _hooks(table: object, problems: list[str], **attributes: Any) -> Iterator[HookDefinition]:
    if table is None or isinstance(table, bool):  # pi: a switch for all hooks
        return
    if not isinstance(table, Mapping):
        problems.append("hooks must be an object with the names of events.")
        return
    for event, groups in table.items():
        if event not in EVENTS:
            problems.append(f"hooks.{event} is not used: pi has no such event.")
        elif not isinstance(groups, list):
            problems.append(f"hooks.{event} must be an array.")
        else:
            for number, group in enumerate(groups):
                yield from _group(event, group, f"hooks.{event}[{number}]", problems, attributes)


def _group(
    event: str, group: object, location: str, problems: list[str], attributes: dict[str, Any]
) -> Iterator[HookDefinition]:
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    if not isinstance(group, Mapping) or not isinstance(hooks, list):
        problems.append(f"{location} must be an object with an array of hooks.")
        return
    matcher = group.get("matcher") or ""
    if not isinstance(matcher, str) or not _is_valid(matcher):
        problems.append(f"{location}.matcher is not a valid pattern.")
        return
    for number, raw in enumerate(hooks):
        error = _validation_error(raw)
        if error:
            problems.append(f"{location}.hooks[{number}] {error}")
            continue
        kind = raw.get("type", "command")
        options = {name: value for name, value in raw.items() if name != "type"}
        yield HookDefinition(event=event, type=kind, matcher=matcher, options=options, **attributes)


def _validation_error(raw: object) -> str:
    if not isinstance(raw, Mapping):
        return "must be an object."
    kind = raw.get("type", "command")
    if kind not in _NEEDED:
        return f"has the unknown type {kind!r}: use one of {', '.join(_NEEDED)}."
    for name in _NEEDED[kind]:
        if not isinstance(raw.get(name), str) or not raw[name].strip():
            return f"needs {name}, a text."
    return ""


FOLDER_EVENTS = {"pre": "PreToolUse", "post": "PostToolUse"}
ANY_TOOL = "all"
"""``hooks/pre/all.sh`` runs for every tool."""
_INTERPRETERS = {".sh": "sh", ".bash": "bash", ".py": "python3"}


def folder_hook(path: Path, *, executable: bool, **attributes: Any) -> HookFile:
    """Return the hook of a file in ``hooks/pre`` or ``hooks/post``.

    The name up to the first dot is the tool: ``bash.sh``, ``edit.format.py``, ``all.sh``.
    """
    tool = path.name.partition(".")[0]
    interpreter = _INTERPRETERS.get(path.suffix)
    if not tool:  # files such as .gitkeep
        return HookFile()
    if not executable and interpreter is None:
        message = f"{path} is not executable: run chmod +x, or use {', '.join(_INTERPRETERS)}."
        return HookFile(problems=(message,))
    argv = [str(path)] if executable else [str(interpreter), str(path)]
    options = {"command": argv[0], "args": argv[1:]}
    event = FOLDER_EVENTS[path.parent.name]
    matcher = "" if tool == ANY_TOOL else tool
    hook = HookDefinition(
        event=event,
        type="command",
        matcher=matcher,
        options=options,
        source=str(path),
        **attributes,
    )
    return HookFile(hooks=(hook,))


_PLAIN = re.compile(r"[\w\-, |]*")
_SERVER_TOOLS = re.compile(r"mcp__[\w-]+__[\w-]*\*")


def _is_valid(matcher: str) -> bool:
    try:
        re.compile("" if matcher == "*" else matcher)
    except re.error:
        return False
    return True


def matches(hook: HookDefinition, subjects: Iterable[str], values: Iterable[str] = ()) -> bool:
    """Whether a hook applies to one of the names of a tool, source, trigger or reason.

    A matcher of letters, ``|`` and ``,`` lists names; any other one is a regular expression.
    ``values`` are the command or path of a tool call, which ``if`` is compared with.
    """
    names = tuple(subjects)
    if hook.matcher not in ("", "*") and names:
        if _PLAIN.fullmatch(hook.matcher):
            listed = [name.strip() for name in re.split(r"[|,]", hook.matcher)]
            if not any(tool_matches(pattern, name) for pattern in listed for name in names):
                return False
        elif not any(_searches(hook.matcher, name) for name in names):
            return False
    rule = hook.text("if")
    return not rule or hook.event not in TOOL_EVENTS or _rule_matches(rule, names, values)


def _searches(pattern: str, name: str) -> bool:
    """Whether a regular expression, or ``mcp__server__*`` of permission rules, matches a name."""
    if re.search(pattern, name):
        return True
    return bool(_SERVER_TOOLS.fullmatch(pattern)) and tool_matches(pattern, name)


def _rule_matches(rule: str, names: tuple[str, ...], values: Iterable[str]) -> bool:
    """Whether a call matches a rule such as ``Bash(git *)`` or ``Edit(*.ts)``."""
    tool, _, rest = rule.partition("(")
    if tool.strip() not in names:
        return False
    pattern = rest.removesuffix(")").strip()
    if not pattern or pattern == "*":
        return True
    if pattern.endswith(":*"):
        pattern = pattern.removesuffix(":*") + "*"
    return any(
        fnmatchcase(value, pattern) or fnmatchcase(value, f"*/{pattern}") for value in values
    )


def chosen(hooks: Iterable[HookDefinition]) -> tuple[HookDefinition, ...]:
    """Return the hooks without duplicates: two files may define the same one."""
    seen: dict[tuple[str, str, str], HookDefinition] = {}
    for hook in hooks:
        key = (hook.event, hook.type, repr(sorted(hook.options.items(), key=lambda item: item[0])))
        seen.setdefault(key, hook)
    return tuple(seen.values())
