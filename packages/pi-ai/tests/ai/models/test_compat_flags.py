"""The table of flags, compared with the records of the wires."""

from __future__ import annotations

from typing import Any

import msgspec

from pi.ai.models.compat_flags import COMPAT_FLAGS, WITHOUT_EFFECT
from pi.ai.wire.anthropic_messages.compat import Compat as Anthropic
from pi.ai.wire.bedrock_converse.compat import Compat as Bedrock
from pi.ai.wire.openai_completions.compat import Compat as Completions
from pi.ai.wire.openai_responses.compat import Compat as Responses

INTERNAL = {"thinksUnasked", "looseTools", "offWord"}
"""Fields that follow from other flags."""
ELSEWHERE = {"supportsParametersJsonSchema"}
"""Flags that a wire reads without a record."""
RECORDS: tuple[type[Any], ...] = (Anthropic, Bedrock, Completions, Responses)


def test_the_table_has_exactly_the_flags_that_the_wires_read() -> None:
    read = {field.encode_name for record in RECORDS for field in msgspec.structs.fields(record)}

    assert read - INTERNAL | ELSEWHERE == COMPAT_FLAGS.keys() - WITHOUT_EFFECT


def test_every_value_that_the_table_allows_is_read_by_the_wires() -> None:
    samples: dict[Any, Any] = {bool: True, dict: {}, int: 3, list: []}
    for record in RECORDS:
        for field in msgspec.structs.fields(record):
            kind = COMPAT_FLAGS.get(field.encode_name)
            values = kind if isinstance(kind, tuple) else (samples.get(kind),)
            for value in () if kind is None else values:
                if record is Anthropic and field.encode_name == "sessionAffinityFormat":
                    value = "openrouter"  # the only one of that protocol
                msgspec.convert({field.encode_name: value}, record)
