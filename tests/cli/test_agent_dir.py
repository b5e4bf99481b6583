from __future__ import annotations

import pytest

from pi.ai import factory
from pi.cli.agent_dir import agent_directory


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/home/ada"},
        {"HOME": "/home/ada", "PI_CONFIG_DIR": ".other"},
        {"HOME": "/home/ada", "PI_CONFIG_DIR": "/somewhere"},
        {"HOME": "/home/ada", "PI_CODING_AGENT_DIR": "~/agent"},
        {},
    ],
)
def test_it_is_where_all_others_says(environ: dict[str, str]) -> None:
    assert agent_directory(environ) == factory.agent_directory(environ)
