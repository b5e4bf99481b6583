from __future__ import annotations

from pi.ai.auth.errors import GrantRefused, LoginCancelled, LoginFailed, StoreDamaged
from pi.ai.errors import AuthenticationFailed
from pi.base.errors import PiError
from pi.base.files import FileProblem


def test_each_error_stands_where_the_tree_shows_it() -> None:
    assert (LoginCancelled.__base__, LoginFailed.__base__) == (LoginFailed, PiError)
    assert (StoreDamaged.__base__, GrantRefused.__base__) == (FileProblem, AuthenticationFailed)
    assert not GrantRefused("no").retryable
