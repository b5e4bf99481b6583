"""Parameters of which ``./test`` runs the first few, and ``./test --full`` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], keep: int) -> list[Any]:
    """The values for ``parametrize``; those after the first ``keep`` are marked ``full``.

    A tuple is one set of arguments.
    """
    chosen = list(values)
    sets = (value if isinstance(value, tuple) else (value,) for value in chosen[keep:])
    return [*chosen[:keep], *(pytest.param(*each, marks=pytest.mark.full) for each in sets)]
