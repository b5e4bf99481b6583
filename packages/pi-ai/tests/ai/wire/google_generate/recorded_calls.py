"""The calls behind the recorded requests, rebuilt from the recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pi.ai.models.model import Model
from pi.ai.request import Call
from tests.ai.wire.awkward_histories import awkward_history
from tests.ai.wire.fixed_conversation import recorded_call

GOLDEN = Path(__file__).parent.parent / "golden"
APIS = ("google-generative-ai", "google-vertex")


def rows(file: str) -> list[Any]:
    """The recorded rows of this wire."""
    lines = (GOLDEN / file).read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["api"] in APIS]


def payload_call(row: Any) -> Call:
    """The call that a row of ``payloads-by-provider`` records."""
    base = row["url"].partition("/models/")[0]
    if row["api"] == "google-vertex":
        base = "https://{location}-aiplatform.googleapis.com"
    return recorded_call(row, base)


HISTORY_MODEL = Model(
    id="m",
    name="m",
    api="google-generative-ai",
    provider="p",
    base_url="https://example.test",
    input=("text", "image"),
)


def history_call(case: str) -> Call:
    """A call with one of the awkward histories."""
    return Call(model=HISTORY_MODEL, messages=awkward_history(case))
