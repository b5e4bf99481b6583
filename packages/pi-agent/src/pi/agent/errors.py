"""Errors of the agent itself, as opposed to errors of a model or a tool.

PiError
├── AgentBusy        a run is already active
├── WouldDeadlock    code inside a run waits for the end of that run
├── CannotContinue   the last message is not one that a model answers
├── PromptRefused    a policy rejected the prompt
└── BadToolName      providers reject the name of a tool
"""

from __future__ import annotations

from pi.base.errors import PiError


class AgentBusy(PiError):
    """A prompt was sent during a run."""


class WouldDeadlock(PiError):
    """Code inside a run waits for the end of that run."""


class CannotContinue(PiError):
    """The last message is neither a user message nor a tool result."""


class PromptRefused(PiError):
    """A policy rejected the prompt."""


class BadToolName(PiError):
    """Providers reject the name of a tool."""
