from __future__ import annotations

import re
from typing import Any, get_args

import msgspec
import pytest

from pi.agent import error_codes
from pi.agent.error_codes import (
    CompactionErrorCode,
    CompactionFailed,
    ExecutionError,
    ExecutionErrorCode,
    ExecutionFailed,
    FileError,
    FileErrorCode,
    FileFailed,
    SessionError,
    SessionErrorCode,
    SessionFailed,
)

ROW = re.compile(r"^(\w+ErrorCode)? +(\w+)  +\w.+$", re.MULTILINE)


def documented() -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    name = ""
    for first, code in ROW.findall(error_codes.__doc__ or ""):
        name = first or name
        table.setdefault(name, []).append(code)
    return table


def test_the_table_explains_every_code_and_no_other() -> None:
    assert documented() == {
        "FileErrorCode": [*get_args(FileErrorCode)],
        "ExecutionErrorCode": [*get_args(ExecutionErrorCode)],
        "CompactionErrorCode": [*get_args(CompactionErrorCode)],
        "SessionErrorCode": [*get_args(SessionErrorCode)],
    }


@pytest.mark.parametrize(
    ("error", "json"),
    [
        (
            FileError(code="not_found", message="No a.", path="a"),
            {"code": "not_found", "message": "No a.", "path": "a"},
        ),
        (
            ExecutionError(code="timed_out", message="Late."),
            {"code": "timed_out", "message": "Late."},
        ),
        (SessionError(code="locked", message="Busy."), {"code": "locked", "message": "Busy."}),
    ],
)
def test_an_error_is_a_value_that_travels_as_json(error: Any, json: dict[str, str]) -> None:
    assert msgspec.to_builtins(error) == json
    assert msgspec.convert(json, type(error)) == error


@pytest.mark.parametrize(
    "failed",
    [
        FileFailed(FileError(code="no_space", message="Full."), hint="Free some."),
        ExecutionFailed(ExecutionError(code="killed", message="Full."), hint="Free some."),
        SessionFailed(SessionError(code="closed", message="Full."), hint="Free some."),
        CompactionFailed("aborted", "Full.", hint="Free some."),
    ],
)
def test_what_is_raised_tells_the_person_and_carries_the_value(
    failed: FileFailed | ExecutionFailed | SessionFailed | CompactionFailed,
) -> None:
    assert failed.explain() == "Full. Free some."
    assert failed.error.message == "Full."
