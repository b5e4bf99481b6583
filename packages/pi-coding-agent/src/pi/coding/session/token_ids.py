"""Token ids of answers, in a file beside the session file.

Each turn sends the whole conversation again, so a row has only the part of the prompt that differs
from the tokens of the row before. Ids are found by the id of the response.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import takewhile
from operator import eq
from pathlib import Path

import msgspec

from pi.ai.request import TokenIds
from pi.base.errors import PiError
from pi.base.files import private_directory
from pi.base.json_lines import encode_line
from pi.base.records import UNREADABLE, Record
from pi.coding.blobs.artifacts import artifact_directory
from pi.coding.session.writing import is_torn

log = logging.getLogger(__name__)

FILE = "token-ids.ndjson"
"""In the folder of artifacts; its files that end with .jsonl are sessions of sub-agents."""


class _Row(Record):
    id: str
    shared: int
    """How many tokens the prompt shares with the prompt and the answer of the row before."""
    prompt: list[int]
    """The rest of the prompt."""
    completion: list[int]
    logprobs: list[float]


class TokenIdFile:
    """Appends the token ids of a session."""

    def __init__(self, session_file: Path) -> None:
        self.session_file = session_file
        self._last: Sequence[int] = ()

    def append(self, ids: TokenIds) -> None:
        """Append the ids of an answer; failures are only logged."""
        shared = sum(1 for _ in takewhile(bool, map(eq, self._last, ids.prompt)))
        row = _Row(
            id=ids.response_id,
            shared=shared,
            prompt=ids.prompt[shared:],
            completion=ids.completion,
            logprobs=ids.logprobs,
        )
        folder = artifact_directory(self.session_file)
        try:
            private_directory(folder)
            with (folder / FILE).open("a+b") as file:
                start = b"\n" if is_torn(file.fileno()) else b""  # a crash has cut the last row
                file.write(start + encode_line(msgspec.to_builtins(row)))
        except (OSError, PiError) as error:
            log.warning("token ids were not stored in %s: %s", folder, error)
            return
        self._last = [*ids.prompt, *ids.completion]


def read_token_ids(session_file: Path) -> dict[str, TokenIds]:
    """Return the stored token ids by response.

    A row that a crash has cut is left out, and with it the rows that build on it.
    """
    try:
        lines = (artifact_directory(session_file) / FILE).read_bytes().splitlines()
    except OSError:
        return {}
    ids: dict[str, TokenIds] = {}
    last: list[int] = []
    is_known = True
    for line in lines:
        try:
            row = msgspec.json.decode(line, type=_Row)
        except UNREADABLE:
            is_known = False
            continue
        is_known = is_known or not row.shared  # each process begins with a whole row
        if not is_known:
            continue
        prompt = [*last[: row.shared], *row.prompt]
        ids[row.id] = TokenIds(
            response_id=row.id, prompt=prompt, completion=row.completion, logprobs=row.logprobs
        )
        last = [*prompt, *row.completion]
    return ids
