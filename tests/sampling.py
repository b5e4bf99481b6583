"""Parameters of which ``./test`` runs the first few, and ``./test --full`` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], keep: int) -> list[Any]:
    """The values for ``parametrize``; those after the first ``keep`` are marked ``full``.

    A tuple is one set of arguments; ``pytest.param`` keeps its marks and its id.
    """
    chosen = list(values)
    return [*chosen[:keep], *map(_only_in_full, chosen[keep:])]


def _only_in_full(value: Any) -> Any:
    if hasattr(value, "marks"):  # a pytest.param, which is a tuple, too
        marks = (*value.marks, pytest.mark.full)
        return pytest.param(*value.values, marks=marks, id=value.id)
    arguments = value if isinstance(value, tuple) else (value,)
    return pytest.param(*arguments, marks=pytest.mark.full)
