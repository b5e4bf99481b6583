"""Commands in the JSON form of RPC."""

from __future__ import annotations

import msgspec

from pi.coding.port.results import Command
from pi.coding.resources.sources import SourceInfo


def test_a_command_without_a_description_is_encoded_without_the_field() -> None:
    command = Command(name="x", source="prompt", source_info=SourceInfo(path="/x.md"))

    assert msgspec.to_builtins(command) == {
        "name": "x",
        "source": "prompt",
        "sourceInfo": {
            "path": "/x.md",
            "source": "auto",
            "scope": "user",
            "origin": "top-level",
        },
    }
