"""The arguments of a call as a tool wants them, or all that is wrong with them at once. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pi.agent.json_schema import FlatSchemas
from pi.agent.schema_check import object_schema
from pi.agent.tool import ToolFailed, Validate
from pi.ai.messages import Json
from pi.base.surrogates import replace_surrogates


def validator(
    schema: Json, *, tool: str = "", decode: Callable[[Json], Any] | None = None
) -> Validate:
    """A function that mends and checks arguments against ``schema``.

    ``decode`` turns what fits the schema into what the tool is given, and then fills in defaults
    itself; without it the tool gets the mended object, defaults included. ``BadSchema`` is raised
    here, at once, for a schema that cannot be used; the function raises ``ToolFailed`` only.
    """
    schema = object_schema(schema, tool=tool)
    schemas = FlatSchemas(schema)

    def validate(arguments: Json) -> Any:
        # Not at the top: the first request needs the schemas of all tools, the first call these.
        from pi.agent.coercion import Coercion
        from pi.agent.problems import Problem, decoding_problems, report

        walk = Coercion(schemas, fill_defaults=decode is None)
        try:
            given = {} if _is_nothing(arguments) else _encodable(arguments)
            mended = walk.apply(given, schema)
        except RecursionError:
            walk.problems = [Problem(place=(), says="are nested too deeply")]
        if walk.problems:
            raise ToolFailed(report(tool, walk.problems, arguments))
        if decode is None:
            return mended
        try:
            return decode(mended)
        except (ValueError, RecursionError) as problem:
            raise ToolFailed(report(tool, decoding_problems(problem), arguments)) from problem

    return validate


def _encodable(arguments: Json) -> Json:
    """Arguments whose strings can be written as UTF-8: files and commands take nothing else."""
    try:
        msgspec.json.encode(arguments)
    except UnicodeEncodeError:
        mended: Json = replace_surrogates(arguments)
        return mended
    except (TypeError, ValueError, RecursionError):
        pass  # not JSON, which the schema decides about
    return arguments


def _is_nothing(arguments: object) -> bool:
    return arguments is None or (isinstance(arguments, str) and not arguments.strip())
