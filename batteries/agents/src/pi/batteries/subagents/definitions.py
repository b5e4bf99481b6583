"""Definitions of agents: parses their files, and finds them.

Files of pi, Claude Code, Codex and Gemini CLI are Markdown with front matter, with different names
for some keys; Codex also has TOML files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pi.base.formats import parse_front_matter, parse_toml
from pi.extension import BadFormat, BadResource, Json, Record, ThinkingLevel, Where

KIND = "agents"
BUNDLED = Path(__file__).parent / "bundled"
FOLDERS = (("claude", ".claude"), ("codex", ".codex"), ("gemini", ".gemini"))
"""Other agents in order of precedence, with their folders in a project and at home."""
EVERY = "*"
INHERIT = ("inherit", "default", "")
LEVELS: dict[str, ThinkingLevel] = {
    "off": "off", "none": "off", "minimal": "minimal", "low": "low", "medium": "medium",
    "med": "medium", "high": "high", "xhigh": "xhigh", "max": "max",
}  # fmt: skip
"""Words for thinking levels, also those of other agents."""
_NAMES = {
    "Bash": "bash", "Read": "read", "Write": "write", "Edit": "edit", "MultiEdit": "edit",
    "Grep": "grep", "Glob": "find", "LS": "ls", "Task": "task", "Agent": "task",
    "WebSearch": "web_search", "WebFetch": "fetch", "TodoWrite": "todo",
    "read_file": "read", "read_many_files": "read", "write_file": "write", "replace": "edit",
    "run_shell_command": "bash", "shell": "bash", "search_file_content": "grep", "glob": "find",
    "list_directory": "ls", "google_web_search": "web_search", "web_fetch": "fetch",
}  # fmt: skip
"""Tools of Claude Code, Gemini CLI and Codex, with their names in pi."""
_COMMA = re.compile(r",(?![^()]*\))")
_TRUE = (True, "true", "yes", "on", 1)
_NO_TOOLS = ("none", "[]")


class AgentDefinition(Record):
    """An agent that tasks can be given to."""

    name: str
    description: str
    prompt: str
    """Added to its system prompt."""
    tools: tuple[str, ...] | None = None
    """Names in pi; ``None`` means all tools of the caller."""
    without: tuple[str, ...] = ()
    """Tools that it does not get (``disallowedTools``)."""
    models: tuple[str, ...] = ()
    """Patterns in order of preference; empty for the role ``task``, or the caller's model."""
    thinking: ThinkingLevel | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    """Skills whose text is part of its system prompt."""
    background: bool = False
    blocking: bool = False
    """Whether the caller always waits for it, even if the call sets ``background``."""
    isolated: bool = False
    spawns: tuple[str, ...] = ()
    """Agents that it may give tasks to; ``*`` means all."""
    output: Json | None = None
    """JSON Schema of its result, unless the task has one."""
    path: str = ""
    source: str = "pi"


def parse_agent(text: str, path: Path) -> AgentDefinition | None:
    """Parse a file; ``None`` if it is not the definition of an agent.

    Raises ``BadResource`` if it is one with an error.
    """
    if path.suffix == ".toml":
        return _from_toml(text, path)
    try:
        document = parse_front_matter(text)
    except BadFormat as error:
        raise BadResource(error.reason) from error
    if not document.has_meta:
        return None  # a README beside the agents
    return _definition(document.meta, document.body, path)


def _from_toml(text: str, path: Path) -> AgentDefinition:
    try:
        table = parse_toml(text)
    except BadFormat as error:
        raise BadResource(error.reason) from error
    meta = {"thinking-level": table.get("model_reasoning_effort"), **table}
    return _definition(meta, str(table.get("developer_instructions") or ""), path)


def _definition(meta: Mapping[str, Any], body: str, path: Path) -> AgentDefinition:
    named = {_plain(key): value for key, value in meta.items()}
    name = str(named.get("name") or path.stem).strip()
    description = " ".join(str(named.get("description") or "").split())
    if not description:
        raise BadResource("it has no description")
    tools = named.get("tools")
    return AgentDefinition(
        name=name,
        description=description,
        prompt=body.strip(),
        tools=None if _means_every(tools) else tool_names(_words(tools)),
        without=tool_names(_words(named.get("disallowedtools"))),
        models=tuple(model for model in _words(named.get("model")) if model not in INHERIT),
        thinking=_level(named, path),
        max_turns=_number(named.get("maxturns"), path),
        skills=_words(named.get("skills")),
        background=named.get("background") in _TRUE,
        blocking=named.get("blocking") in _TRUE,
        isolated=_is_isolated(named.get("isolation")),
        spawns=_spawns(named),
        output=_schema(named.get("output"), path),
        path=str(path),
    )


def _plain(key: str) -> str:
    """One spelling of ``maxTurns``, ``max_turns`` and ``max-turns``."""
    return key.replace("-", "").replace("_", "").lower()


def _words(value: Any) -> tuple[str, ...]:
    """Words of a list, or of a text separated by commas that are not in parentheses."""
    parts = _COMMA.split(value) if isinstance(value, str) else value or ()
    if not isinstance(parts, list | tuple):
        return ()
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _means_every(tools: Any) -> bool:
    return tools is None or tools == "" or EVERY in _words(tools)


def tool_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of tools in pi, without tools that are allowed for some arguments only.

    ``Bash(git:*)`` is dropped: ``bash`` would allow more than the author meant.
    """
    plain = (name for name in names if name not in _NO_TOOLS and "(" not in name)
    return tuple(dict.fromkeys(_NAMES.get(name, name) for name in plain))


def _level(named: Mapping[str, Any], path: Path) -> ThinkingLevel | None:
    value = next(
        (named[key] for key in ("thinkinglevel", "thinking", "effort") if named.get(key)), None
    )
    if value is None or str(value) in INHERIT:
        return None
    if (level := LEVELS.get(str(value).lower())) is None:
        raise BadResource(f"unknown thinking level {value!r}")
    return level


def _number(value: Any, path: Path) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not str(value).isdecimal() or int(value) < 1:
        raise BadResource(f"maxTurns must be a positive number, not {value!r}")
    return int(value)


def _is_isolated(value: Any) -> bool:
    return value in _TRUE or value in ("worktree", "copy", "overlay", "isolated")


def _spawns(named: Mapping[str, Any]) -> tuple[str, ...]:
    value = named.get("spawns")
    if value is None:  # Claude Code: the tool itself, for all agents or for some
        calls = [word for word in _words(named.get("tools")) if word.startswith(("Agent", "Task"))]
        return tuple(
            agent for word in calls for agent in (_words(word.partition("(")[2][:-1]) or (EVERY,))
        )
    if value in _TRUE:
        return (EVERY,)
    return _words(value) if isinstance(value, str | list) else ()


def _schema(value: Any, path: Path) -> Json | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadResource("output must be a JSON Schema")
    return value


# Search -------------------------------------------------------------------------------------------


def find_agents(search: Where) -> Iterator[Path]:
    """Yield the files of the project, then those of the user."""
    yield from _files(search, search.cwd / ".pi/agents", "pi")
    for agent, folder in FOLDERS:
        yield from _files(search, search.cwd / folder / "agents", agent)
    yield from _files(search, search.agent_dir / "agents", "pi")
    if search.cwd != search.home:
        for agent, folder in FOLDERS:
            yield from _files(search, search.home / folder / "agents", agent)


def _files(search: Where, folder: Path, agent: str) -> list[Path]:
    # An untrusted folder is not even listed.
    if not search.allows(folder) or not search.uses(agent, folder):
        return []
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    return [path for path in paths if path.suffix in (".md", ".toml")]


@cache
def bundled_agents() -> tuple[AgentDefinition, ...]:
    """The agents that come with pi."""
    files = sorted(BUNDLED.glob("*.md"))
    definitions = (parse_agent(file.read_text(encoding="utf-8"), file) for file in files)
    return tuple(definition for definition in definitions if definition is not None)
