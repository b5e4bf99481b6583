"""A provider with OAuth login: ``/login acme``, then ``--model acme/small``.

The server returns a code that the user types into a page. The tokens are stored like all others and
refreshed before they expire.
"""

from __future__ import annotations

from urllib.parse import urlencode

from pi.extension import (
    AuthenticationFailed,
    ExtensionAPI,
    Json,
    LoginCallbacks,
    OAuthConfig,
    OAuthCredential,
)

MODEL = {"id": "small", "name": "Acme Small", "contextWindow": 64000, "maxTokens": 4000}


def extension(pi: ExtensionAPI) -> None:
    """Register Acme's model; ``--acme-url`` sets the address of its server."""
    pi.register_flag(
        "acme-url", type="string", default="https://acme.example", description="Acme's server"
    )
    server = str(pi.get_flag("acme-url"))

    async def post(path: str, **fields: str) -> Json:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        response = await pi.http.request(
            server + path, method="POST", headers=form, body=urlencode(fields).encode()
        )
        if response.status in (400, 401):
            raise AuthenticationFailed("Acme no longer accepts this login.")
        answer: Json = response.json()
        return answer

    async def login(callbacks: LoginCallbacks) -> Json:
        code = await post("/device")
        callbacks.on_device_code(code["user_code"], code["page"])
        while "access_token" not in (response := await post("/token", code=code["device_code"])):
            await callbacks.clock.sleep(code["interval"])
        return tokens(response)

    async def renew(credential: OAuthCredential) -> Json:
        return tokens(await post("/token", refresh_token=credential.refresh))

    def tokens(response: Json) -> Json:
        ends = pi.scope.clock.now_ms() + response["expires_in"] * 1000
        return {
            "access": response["access_token"],
            "refresh": response["refresh_token"],
            "expires": ends,
        }

    pi.register_provider(
        "acme",
        {
            "base_url": f"{server}/v1",
            "api": "openai-completions",
            "models": [MODEL],
            "oauth": OAuthConfig(name="Acme", login=login, refresh_token=renew),
        },
    )
