"""How a login talks to the person: what it asks, and what it shows.

The names on the wire are those of pi's login contract.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from pi.base.records import Record


class Choice(Record):
    """One of several ways to go on."""

    id: str
    label: str


class Prompt(Record):
    """A question; the answer is a text, for ``select`` the id of a choice."""

    kind: Literal["text", "secret", "select", "manual_code"]
    """``manual_code`` runs beside the browser and is withdrawn when that comes back by itself."""
    message: str
    placeholder: str = ""
    choices: tuple[Choice, ...] = ()


class Info(Record, tag_field="kind", tag="info"):
    """Something to know."""

    message: str


class AuthUrl(Record, tag_field="kind", tag="auth_url"):
    """A page to open in a browser; the login itself opens none."""

    url: str
    instructions: str


class DeviceCode(Record, tag_field="kind", tag="device_code"):
    """A code to type in on a page, on this or any other device."""

    user_code: str
    url: str
    expires_in: float
    """Seconds until the code is no longer good."""
    direct_url: str = ""
    """The same page with the code already filled in, where the vendor has one."""


class Progress(Record, tag_field="kind", tag="progress"):
    """What is being waited for."""

    message: str


Notice: TypeAlias = Info | AuthUrl | DeviceCode | Progress


class LoginUI(Protocol):
    """The person, as a login sees them."""

    async def ask(self, prompt: Prompt) -> str:
        """Their answer. Raises ``LoginCancelled`` when they give up; may be cancelled itself."""
        ...

    def notify(self, notice: Notice) -> None:
        """Show it and return at once."""
        ...
