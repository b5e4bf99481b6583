"""How error messages and hints name the options of a session.

A user of the command line reads ``--model``; a program that embeds pi passes ``model=``.
"""

from __future__ import annotations

from pi.base.records import Record


class OptionNames(Record):
    """The names of options on the command line."""

    model: str = "--model"
    approve: str = "--approve"
    list_models: str = "--list-models"
    demo_model: str = "--model demo/tour"
    local_model: str = "--model local"
    streaming: str = "streamingBehavior"
    """The field of RPC: the command line has no such option."""


PYTHON_NAMES = OptionNames(
    model="model=",
    approve="trust=True",
    list_models="discover_models().get_available()",
    demo_model='model="demo/tour"',
    local_model='model="local"',
    streaming="streaming=",
)
"""The names of the same options in ``create_agent_session``."""
