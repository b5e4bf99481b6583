"""Errors of logins and of the credential store.

PiError
├── LoginFailed           a login failed
│   └── LoginCancelled    the user cancelled it
├── FileAccessError
│   └── StoreDamaged      the credential file is invalid
└── ProviderError
    └── AuthenticationFailed
        └── GrantRefused  an authorization server refused permanently
"""

from __future__ import annotations

from pi.ai.errors import AuthenticationFailed
from pi.base.errors import PiError
from pi.base.files import FileAccessError


class LoginFailed(PiError):
    """A login failed."""


class LoginCancelled(LoginFailed):
    """The user cancelled the login; raised by the login UI."""


class StoreDamaged(FileAccessError):
    """The credential file is invalid; it is never overwritten."""


class GrantRefused(AuthenticationFailed):
    """An authorization server refused with an OAuth error code: a retry does not help."""
