from __future__ import annotations

import inspect

import pytest

from pi.ai.errors import ProviderError
from pi.ai.wires import WIRES, load_wire


@pytest.mark.parametrize("api", sorted(WIRES))
def test_every_wire_can_be_loaded_and_has_the_same_signature(api: str) -> None:
    assert list(inspect.signature(load_wire(api)).parameters) == [
        "call",
        "builder",
        "flush",
        "services",
    ]


def test_an_unknown_wire_raises_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ProviderError, match='No wire protocol is called "smoke-signals"') as caught:
        load_wire("smoke-signals")

    assert "anthropic-messages" in caught.value.hint
