"""Collects the token ids and log-probabilities of a stream, where the server sends them. Pure."""

from __future__ import annotations

from typing import Any

from pi.ai.request import OnTokenIds, TokenIds


class TokenIdCollector:
    """The tokens of one answer so far."""

    def __init__(self) -> None:
        self._prompt: list[int] = []
        self._completion: list[int] = []
        self._logprobs: list[float] = []

    def add_prompt(self, ids: Any) -> None:
        """Add the field ``prompt_token_ids`` of a first chunk."""
        if ids and _are_numbers(ids):
            self._prompt = ids

    def add(self, ids: Any, logprobs: Any) -> None:
        """Add the fields ``token_ids`` and ``logprobs`` of a choice."""
        if ids and _are_numbers(ids):
            self._completion += ids
        rows = logprobs.get("content") if isinstance(logprobs, dict) else None
        for row in rows if isinstance(rows, list) else ():
            value = row.get("logprob") if isinstance(row, dict) else None
            if isinstance(value, int | float):
                self._logprobs.append(value)

    def report(self, response_id: object, listener: OnTokenIds) -> None:
        """Call ``listener`` if the server has sent ids, and an id of the response to find them."""
        if self._completion and isinstance(response_id, str):
            # Probabilities of some tokens only could not be assigned to them.
            complete = len(self._logprobs) == len(self._completion)
            listener(
                TokenIds(
                    response_id=response_id,
                    prompt=self._prompt,
                    completion=self._completion,
                    logprobs=self._logprobs if complete else [],
                )
            )


def _are_numbers(ids: object) -> bool:
    return isinstance(ids, list) and all(type(id) is int for id in ids)
