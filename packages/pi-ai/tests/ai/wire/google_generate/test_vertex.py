from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.google_generate.rest import models_url

BASE = "https://{location}-aiplatform.googleapis.com"
TAIL = "publishers/google/models"


def call(access: Access, base: str = BASE, env: dict[str, str] | None = None) -> Call:
    model = Model(id="m", name="m", api="google-vertex", provider="google-vertex", base_url=base)
    return Call(model=model, messages=(), access=access, options=StreamOptions(env=env))


def token(**env: str) -> Access:
    return Access(api_key="TOKEN", kind="ambient", env=env)


KEY = Access(api_key="KEY", kind="api_key")


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_the_url_for_a_token_contains_project_and_location(location: str, host: str) -> None:
    access = token(GOOGLE_CLOUD_PROJECT="p", GOOGLE_CLOUD_LOCATION=location)

    assert models_url(call(access)) == f"https://{host}/v1/projects/p/locations/{location}/{TAIL}"


@pytest.mark.parametrize("project", ["GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT"])
@pytest.mark.parametrize(
    "location", ["GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION"]
)
def test_project_and_location_are_read_from_several_variables(project: str, location: str) -> None:
    access = token(**{project: "p", location: "global"})

    assert models_url(call(access)).endswith(f"/projects/p/locations/global/{TAIL}")


def test_the_url_for_a_key_contains_no_project_or_location() -> None:
    assert models_url(call(KEY)) == f"https://aiplatform.googleapis.com/v1/{TAIL}"


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("http://127.0.0.1:8080", f"http://127.0.0.1:8080/v1/{TAIL}"),
        ("https://proxy.test/vertex/v1beta1/", f"https://proxy.test/vertex/v1beta1/{TAIL}"),
        ("https://v1.test", f"https://v1.test/v1/{TAIL}"),
    ],
)
def test_a_custom_base_url_can_contain_the_version(base: str, address: str) -> None:
    assert models_url(call(KEY, base)) == address


def test_variables_of_the_request_override_those_of_the_provider() -> None:
    access = token(GCLOUD_PROJECT="p", GOOGLE_CLOUD_LOCATION="us-east1")

    address = models_url(call(access, env={"GOOGLE_CLOUD_LOCATION": "global"}))

    assert address == f"https://aiplatform.googleapis.com/v1/projects/p/locations/global/{TAIL}"


@pytest.mark.parametrize(
    ("env", "missing"),
    [
        ({"GOOGLE_CLOUD_LOCATION": "global"}, "GOOGLE_CLOUD_PROJECT"),
        ({"GOOGLE_CLOUD_PROJECT": "p"}, "GOOGLE_CLOUD_LOCATION"),
        (
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "evil.test/#"},
            "GOOGLE_CLOUD_LOCATION",
        ),
    ],
)
def test_a_missing_project_or_location_is_named_in_the_error(
    env: dict[str, str], missing: str
) -> None:
    with pytest.raises(BadRequest, match=missing) as caught:
        models_url(call(token(**env)))

    assert f"Set {missing}" in caught.value.hint
