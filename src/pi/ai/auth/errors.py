"""Why a login failed, or the store cannot be used.

PiError
├── LoginFailed           a login did not come to credentials
│   └── LoginCancelled    the person gave it up
├── FileProblem
│   └── StoreDamaged      the credential file does not hold what it should
└── ProviderError
    └── AuthenticationFailed
        └── GrantRefused  an authorization server said no, for good
"""

from __future__ import annotations

from pi.ai.errors import AuthenticationFailed
from pi.base.errors import PiError
from pi.base.files import FileAccessError


class LoginFailed(PiError):
    """A login did not come to credentials."""


class LoginCancelled(LoginFailed):
    """The person gave the login up; whoever asks them raises it."""


class StoreDamaged(FileAccessError):
    """The credential file does not hold what it should; it is never overwritten."""


class GrantRefused(AuthenticationFailed):
    """An authorization server said no in OAuth's words: asking again does not help."""
