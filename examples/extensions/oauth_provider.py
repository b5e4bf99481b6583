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
    """Offer Acme's model; ``--acme-url`` says where its server is."""
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

    async def login(person: LoginCallbacks) -> Json:
        code = await post("/device")
        person.on_device_code(code["user_code"], code["page"])
        while "access_token" not in (given := await post("/token", code=code["device_code"])):
            await person.clock.sleep(code["interval"])
        return tokens(given)

    async def renew(credential: OAuthCredential) -> Json:
        return tokens(await post("/token", refresh_token=credential.refresh))

    def tokens(given: Json) -> Json:
        ends = pi.scope.clock.now_ms() + given["expires_in"] * 1000
        return {"access": given["access_token"], "refresh": given["refresh_token"], "expires": ends}

    pi.register_provider(
        "acme",
        {
            "base_url": f"{server}/v1",
            "api": "openai-completions",
            "models": [MODEL],
            "oauth": OAuthConfig(name="Acme", login=login, refresh_token=renew),
        },
    )
