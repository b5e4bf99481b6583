"""Every recorded request is covered by the golden test of its API."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TESTED_BY = {
    "anthropic-messages": "anthropic_messages",
    "azure-openai-responses": "openai_responses",
    "bedrock-converse-stream": "bedrock_converse",
    "google-generative-ai": "google_generate",
    "google-vertex": "google_generate",
    "mistral-conversations": "mistral_conversations",
    "openai-codex-responses": "openai_responses",
    "openai-completions": "openai_completions",
    "openai-responses": "openai_responses",
}


def api_of(row: dict[str, Any]) -> str:
    """The API of a recorded request."""
    if "api" in row:
        return str(row["api"])
    if "path" not in row:
        return "openai-completions"  # thinking formats and compat flags
    path = row["path"].partition("?")[0]
    return {
        "/v1/messages": "anthropic-messages",
        "/v1/responses": "openai-responses",
        "/v1/chat/completions": "openai-completions",
    }[path]


def test_every_recorded_request_belongs_to_an_api_with_a_golden_test() -> None:
    rows = [
        json.loads(line)
        for file in sorted((HERE / "golden").glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]

    counted = Counter(api_of(row) for row in rows)

    assert sum(counted.values()) == 203
    assert set(counted) == set(TESTED_BY)
    for api, folder in TESTED_BY.items():
        assert (HERE / folder / "test_golden_requests.py").is_file(), api
