"""Calls of ``task``: the schema and description of the tool, and the tasks of a call. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from pi.batteries.subagents.definitions import LEVELS, AgentDefinition
from pi.extension import Json, Record, ThinkingLevel, ToolFailed, one_line

SchemaMode: TypeAlias = Literal["strict", "permissive"]
"""A result that does not match its schema fails the task (``strict``) or is noted."""
DEFAULT_AGENT = "task"
MAX_TASKS = 64
"""Maximum of tasks in one call: a model in a loop must not start thousands."""
TITLE_LENGTH = 80


class TaskItem(Record):
    """One task of a call."""

    agent: str
    task: str
    name: str = ""
    context: str = ""
    output_schema: Json | None = None
    schema_mode: SchemaMode = "strict"
    isolated: bool = False
    background: bool = False
    effort: ThinkingLevel | None = None

    @property
    def prompt(self) -> str:
        """The first message of the agent."""
        return f"{self.context}\n\n# Your task\n\n{self.task}" if self.context else self.task

    @property
    def title(self) -> str:
        """The first line of the task, shortened."""
        first = one_line(self.task.strip().partition("\n")[0])
        return first if len(first) <= TITLE_LENGTH else first[: TITLE_LENGTH - 1] + "…"


def task_schema(names: Sequence[str], *, batch: bool, isolation: bool, background: bool) -> Json:
    """The parameters of the tool: one task, or with ``batch`` also a list of them."""
    fields: Json = {
        "agent": {
            "type": "string",
            "description": f"The agent: {', '.join(names)}. Default: {DEFAULT_AGENT}",
        },
        "task": {"type": "string", "description": "All that the agent needs to know to do it"},
        "name": {"type": "string", "description": "A short name; the result is agent://NAME"},
        "outputSchema": {"type": "object", "description": "JSON Schema of the result"},
        "schemaMode": {
            "type": "string",
            "enum": list(get_args(SchemaMode)),
            "description": "strict (default) fails results that do not match",
        },
        "effort": {
            "type": "string",
            "enum": ["minimal", "low", "medium", "high", "xhigh"],
            "description": "How much the agent thinks",
        },
    }
    if isolation:
        fields["isolated"] = {
            "type": "boolean",
            "description": "Work in a copy of the project; changes are merged back at the end",
        }
    if background:
        fields["background"] = {
            "type": "boolean",
            "description": "Return at once; the result is sent to you when it is there",
        }
    if not batch:
        return {"type": "object", "properties": fields, "required": ["task"]}
    item = {"type": "object", "properties": fields, "required": ["task"]}
    return {
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "items": item,
                "description": "Tasks that run in parallel",
            },
            "context": {"type": "string", "description": "What the agents of all tasks must know"},
            **{name: field for name, field in fields.items() if name != "context"},
        },
    }


def task_items(
    params: Mapping[str, Any], agents: Mapping[str, AgentDefinition]
) -> tuple[TaskItem, ...]:
    """The tasks of a call. Raises ``ToolFailed`` if one of them is invalid."""
    tasks = params.get("tasks")
    if tasks and params.get("task"):
        raise ToolFailed("Pass either tasks or task, not both.")
    rows: list[Any] = list(tasks) if tasks else [params]
    if len(rows) > MAX_TASKS:
        raise ToolFailed(f"{len(rows)} tasks are too many for one call; the limit is {MAX_TASKS}.")
    context = str(params.get("context") or "").strip()
    return tuple(_item(row, context, number, agents) for number, row in enumerate(rows, 1))


def _item(row: Any, context: str, number: int, agents: Mapping[str, AgentDefinition]) -> TaskItem:
    row = row if isinstance(row, dict) else {"task": row}
    task = str(row.get("task") or "").strip()
    if not task:
        raise ToolFailed(f"Task {number} has no text: set task.")
    name = str(row.get("agent") or DEFAULT_AGENT)
    definition = agents.get(name)
    if definition is None:
        names = ", ".join(sorted(agents)) or "none"
        raise ToolFailed(f"Unknown agent {name!r} in task {number}. Agents: {names}.")
    return TaskItem(
        agent=name,
        task=task,
        name=str(row.get("name") or "").strip(),
        context=context,
        output_schema=_schema(row.get("outputSchema"), number) or definition.output,
        schema_mode=_mode(row.get("schemaMode"), number),
        isolated=bool(row.get("isolated", definition.isolated)),
        background=not definition.blocking and bool(row.get("background", definition.background)),
        effort=_effort(row.get("effort"), number),
    )


def _schema(value: Any, number: int) -> Json | None:
    if isinstance(value, str) and value.strip():  # some models send it as text
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ToolFailed(f"outputSchema of task {number} is not JSON: {error}") from error
    if value is None or value == "" or value == {}:
        return None
    if not isinstance(value, dict):
        raise ToolFailed(f"outputSchema of task {number} is not a JSON Schema.")
    return value


def _mode(value: Any, number: int) -> SchemaMode:
    if value in (None, ""):
        return "strict"
    if value not in get_args(SchemaMode):
        raise ToolFailed(f"schemaMode of task {number} is strict or permissive, not {value!r}.")
    mode: SchemaMode = value
    return mode


def _effort(value: Any, number: int) -> ThinkingLevel | None:
    if value in (None, ""):
        return None
    if (level := LEVELS.get(str(value).lower())) is None:
        raise ToolFailed(f"Unknown effort {value!r} in task {number}. Use {', '.join(LEVELS)}.")
    return level


DESCRIPTION = """\
Give work to sub-agents. Each starts with an empty conversation in the same project, works with
its own tools and returns one result; you do not see its steps. Use it for work that can be
described completely: searching a large code base, independent changes, reviews. Do small things
yourself.

Write each task so that a stranger could do it: goal, places, constraints, what to return. Several
tasks in one call run in parallel; their agents cannot talk to each other, so tasks must not
depend on one another{same_files}.

Results are stored: read agent://ID for a long one, agent://ID/field or agent://ID?q=.field[0] for
a part of a JSON result, and history://ID for what the agent did.

Agents:
{agents}"""


def task_description(agents: Sequence[AgentDefinition], *, isolation: bool) -> str:
    """The description of the tool, with the available agents."""
    rows = [f"- {agent.name}: {agent.description}" for agent in agents]
    same = " and must not change the same files, unless they are isolated"
    return DESCRIPTION.format(
        agents="\n".join(rows),
        same_files=same if isolation else same.partition(",")[0],
    )
