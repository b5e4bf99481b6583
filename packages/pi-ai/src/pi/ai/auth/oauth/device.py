"""Device authorization grant (RFC 8628): a code entered on another device.

This module opens no browser; the login UI may offer that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login import DeviceCode, LoginChoice, LoginProgress, LoginPrompt, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.tokens import TokenResponse, Tokens, granted, post_form, refusal
from pi.ai.errors import BadAnswer, RateLimited
from pi.ai.http.client import HttpClient
from pi.base.clock import Clock
from pi.base.records import Record

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
INTERVAL = 5.0
"""Default seconds between two polls, and the step by which a server slows them down."""
SHORTEST_INTERVAL = 1.0

T = TypeVar("T")
WebAddress = Annotated[str, Meta(pattern="^https?://")]
"""A page that the browser may open."""


class Wait(NamedTuple):
    """The user has not confirmed yet: poll again, with ``longer`` seconds added to the interval."""

    longer: float = 0.0


class DeviceGrant(Record, rename=None):
    """The server's first response: the code and where to enter it."""

    device_code: str
    user_code: str
    verification_uri: WebAddress
    verification_uri_complete: WebAddress | None = None
    expires_in: float = 900.0
    interval: float = INTERVAL


async def prefers_device(ui: LoginUI) -> bool:
    """Ask the user to choose a flow, where a vendor has both; True for the device code."""
    choices = (
        LoginChoice(id="browser", label="In the browser on this machine"),
        LoginChoice(id="device", label="With a code on any device"),
    )
    prompt = LoginPrompt(kind="select", message="How do you want to log in?", choices=choices)
    return await ui.ask(prompt) == "device"


async def device_login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> Tokens:
    """Show the user a code and wait until they have confirmed it."""
    grant = await _begin(http, clock, settings)
    ui.notify(
        DeviceCode(
            user_code=grant.user_code,
            url=grant.verification_uri,
            direct_url=grant.verification_uri_complete or "",
            expires_in=grant.expires_in,
        )
    )
    ui.notify(LoginProgress(message="Waiting until the code is confirmed…"))
    fields = {
        "grant_type": GRANT,
        "device_code": grant.device_code,
        "client_id": settings.client_id,
    }

    async def tokens() -> Tokens | Wait:
        answer = await post_form(http, settings.token_url, fields, headers=settings.headers)
        return granted(answer) if answer.ok else not_yet(answer, clock)

    return await poll(tokens, clock=clock, interval=grant.interval, expires_in=grant.expires_in)


async def poll(
    question: Callable[[], Awaitable[T | Wait]],
    *,
    clock: Clock,
    interval: float,
    expires_in: float,
) -> T:
    """Poll until there is a response or the code has expired, never faster than ``interval``."""
    deadline = clock.monotonic() + expires_in
    interval = max(interval, SHORTEST_INTERVAL)
    while (remaining := deadline - clock.monotonic()) > 0:
        await clock.sleep(min(interval, remaining))
        try:
            answer = await question()
        except RateLimited:  # also if the server or the network is down: it may recover in time
            answer = Wait(longer=INTERVAL)
        if not isinstance(answer, Wait):
            return answer
        interval += answer.longer
    raise _too_late()


def not_yet(answer: TokenResponse, clock: Clock) -> Wait:
    """Return how to continue after a response without tokens; raises if the login is over."""
    match answer.code:
        case "authorization_pending":
            return Wait()
        case "slow_down":
            return Wait(longer=INTERVAL)
        case "access_denied" | "authorization_declined":
            raise LoginFailed("The login was refused in the browser.")
        case "expired_token":
            raise _too_late()
        case code if code and answer.status in (200, 400, 401):
            raise LoginFailed(f"The server refused the login: {code}.")
        case _:
            raise refusal(answer, clock)


async def _begin(http: HttpClient, clock: Clock, settings: LoginSettings) -> DeviceGrant:
    fields = {"client_id": settings.client_id, "scope": settings.scope, **settings.device_params}
    form = {name: value for name, value in fields.items() if value}
    answer = await post_form(http, settings.device_url, form, headers=settings.headers)
    if not answer.ok:
        raise refusal(answer, clock)
    return grant_of(answer.body)


def grant_of(body: Mapping[str, object]) -> DeviceGrant:
    """Parse the server's first response."""
    fields = {name: value for name, value in body.items() if value is not None}
    if "verification_url" in fields:  # from an older draft, still in use
        fields.setdefault("verification_uri", fields["verification_url"])
    try:
        return msgspec.convert(fields, DeviceGrant, strict=False)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"The server's device code cannot be used: {error}.") from error


def _too_late() -> LoginFailed:
    return LoginFailed("The code was not confirmed in time.", hint="Start the login again.")
