"""Web search: a chain of services with keys from the store, and rendered citations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.contributions.views import ToolView
from pi.coding.port.extensions import ViewOptions
from pi.extension import ExtensionAPI, ToolFailed, ToolResult
from tests.ai.loopback import site
from tests.coding.extension_host.stage import playing


def search(url: str) -> Any:
    def extension(pi: ExtensionAPI) -> None:
        for name in ("first", "second"):
            pi.auth.add_login(name)

        async def asked(service: str, query: str) -> list[dict[str, str]] | None:
            key = await pi.auth.get(service, env=(f"{service.upper()}_KEY",))
            if key is None:
                return None
            response = await pi.http.request(
                f"{url}/{service}", headers={"Authorization": f"Bearer {key}"}
            )
            return response.json() if response.status == 200 else None

        @pi.tool
        async def web_search(query: str) -> ToolResult:
            """Look on the web."""
            for service in ("first", "second"):
                if found := await asked(service, query):
                    text = "\n".join(page["title"] for page in found)
                    return ToolResult.of(text, details={"citations": found})
            raise ToolFailed("No service is available.")

        def citations(call: ToolView, options: Any, theme: Any) -> list[str]:
            return [f"[{page['url']}]" for page in (call.details or {}).get("citations", ())]

        pi.add_view("tool", "web_search", citations)

    return extension


@pytest.mark.parametrize(
    ("keys", "text", "asked"),
    [
        ((), "No service is available.", []),
        (("first",), "No service is available.", ["/first"]),
        (("first", "second"), "A page", ["/first", "/second"]),
    ],
)
async def test_services_are_asked_one_after_another(
    tmp_path: Path, keys: tuple[str, ...], text: str, asked: list[str]
) -> None:
    pages = {
        "/first": (429, {"error": "busy"}),
        "/second": [{"title": "A page", "url": "https://example.org"}],
    }
    steps = (calls("web_search", query="x"), says("ok"))
    async with site(pages) as web, playing(tmp_path, search(web.url), steps=steps) as play:
        for name in keys:
            await play.session.accounts.storage.set(name, _key(name))
        await play.session.prompt("look")

        (result,) = [m for m in play.session.messages if isinstance(m, ToolResultMessage)]
        view = ToolView(
            id="1",
            name="web_search",
            arguments={},
            state="done",
            details=result.details or None,
        )
        drawn = play.session.extensions.views.rows(
            "tool", "web_search", view, ViewOptions(), None, 80
        )

    assert result.content[0].text == text  # type: ignore[union-attr]
    assert [path for _, path, _, _ in web.asked] == asked
    assert drawn == (["[https://example.org]"] if text == "A page" else [])
    assert all(headers["authorization"].startswith("Bearer k-") for _, _, headers, _ in web.asked)


def _key(name: str) -> Any:
    from pi.ai.auth.credentials import ApiKeyCredential

    return ApiKeyCredential(key=f"k-{name}")
