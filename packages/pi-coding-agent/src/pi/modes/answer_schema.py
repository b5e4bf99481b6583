"""``--json-schema``: the last answer of a run is JSON that matches a schema.

The answer is validated when the run would end. If it does not match, the model is told once what is
wrong and answers again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from pi.agent.policy import Boundary, Next, Policy
from pi.agent.tools.define import validator
from pi.agent.tools.json_schema import BadSchema
from pi.agent.tools.tool import ToolFailed
from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.session.entries import CustomMessageEntry

MISMATCH: Final = 5
"""Exit code if the last answer does not match the schema."""
MAX_REPAIRS = 1
REPAIR = "answer_schema"
"""Custom type of the message that says what is wrong with an answer."""
INSTRUCTION = """\
Your last answer is read by a program. It must be one JSON value that matches this JSON Schema, \
with nothing before or behind it:
{schema}"""
WRONG = """\
Your last answer does not match the JSON Schema: {reason}
Answer again with the corrected JSON value and nothing else."""


class AnswerSchema(Policy):
    """Checks the last answer of each run against a schema."""

    def __init__(self, schema: Json) -> None:
        """Raise ``BadSchema`` for a schema that cannot be used."""
        self._schema = schema
        self._validate = validator(
            {"type": "object", "properties": {"answer": schema}, "required": ["answer"]},
            tool="answer",
        )
        self._repairs = 0
        self.value: Any = None
        """The value of the last answer that matches."""
        self.problem = "There is no answer."
        """Why the last answer does not match; empty if it does."""

    @classmethod
    def of_file(cls, path: Path) -> AnswerSchema:
        """Return the schema in a file. Raises ``BadSchema``."""
        try:
            schema = msgspec.json.decode(path.read_bytes())
        except OSError as error:
            raise BadSchema(f"Cannot read the schema {path}: {error.strerror}.") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadSchema(f"The schema {path} is not JSON: {error}.") from error
        if not isinstance(schema, dict):
            raise BadSchema(f"The schema {path} is not a JSON object.")
        try:
            return cls({name: value for name, value in schema.items() if name != "$schema"})
        except PiError as error:
            raise BadSchema(f"The schema {path} cannot be used: {error.message}") from error

    @property
    def instruction(self) -> str:
        """The addition to the system prompt."""
        return INSTRUCTION.format(schema=json.dumps(self._schema, ensure_ascii=False))

    @property
    def output(self) -> str:
        """The answer as it is printed."""
        return json.dumps(self.value, ensure_ascii=False)

    async def at_boundary(self, at: Boundary) -> Next:
        """Check the answer that would end the run; ask for a corrected one once."""
        if at.kind == "prompt":
            self._repairs, self.problem = 0, "There is no answer."
        if at.kind != "settle" or at.outcome != "completed" or at.next.claimed:
            return at.next
        self._check("" if at.answer is None else at.answer.text)
        if not self.problem or self._repairs >= MAX_REPAIRS:
            return at.next
        self._repairs += 1
        text = WRONG.format(reason=self.problem)
        entry = CustomMessageEntry(custom_type=REPAIR, content=text, display=True)
        return replace(at.next, action="again", entries=(*at.next.entries, entry))

    def _check(self, text: str) -> None:
        try:
            value = json.loads(_unfenced(text))
            json.dumps(value, allow_nan=False)  # ``loads`` accepts NaN, and 1e999 as infinity
        except (ValueError, RecursionError) as error:
            self.problem = f"It is not JSON: {error}."
            return
        try:
            self.value = self._validate({"answer": value})["answer"]
            self.problem = ""
        except ToolFailed as error:
            self.problem = error.message


def _unfenced(text: str) -> str:
    """Return a text without the code fence around it, which models often add to JSON."""
    lines = text.strip().split("\n")
    is_fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].startswith("```")
    return "\n".join(lines[1:-1]) if is_fenced else text
