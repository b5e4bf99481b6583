"""What can go wrong with an agent itself, as opposed to a model or a tool.

PiError
├── AgentBusy        one run at a time
├── WouldDeadlock    something inside a run waits for the end of that run
├── CannotContinue   there is nothing to answer
├── PromptRefused    a policy does not want this prompt
└── BadToolName      no model could call a tool by that name
"""

from __future__ import annotations

from pi.base.errors import PiError


class AgentBusy(PiError):
    """A prompt came while a run was under way."""


class WouldDeadlock(PiError):
    """Something inside a run wants to wait for that very run."""


class CannotContinue(PiError):
    """The last message is not one that a model could answer."""


class PromptRefused(PiError):
    """A policy does not want this prompt to be answered."""


class BadToolName(PiError):
    """A tool has a name that providers refuse."""
