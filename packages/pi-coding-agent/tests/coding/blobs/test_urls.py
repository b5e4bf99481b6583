from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.blobs.artifacts import AgentOutputs, Artifacts, TextFolder
from pi.coding.blobs.urls import ArtifactText, NoSuchResource, resolve_artifact

FOUND = '{"a": {"b c": [1, {"d": "text"}]}, "e": null}'


@pytest.fixture(params=["in memory", "on disk"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> TextFolder:
    text_folder = TextFolder(None if request.param == "in memory" else tmp_path / "s")
    Artifacts(text_folder).save("bash", "zero")
    Artifacts(text_folder).save("bash", "one")
    AgentOutputs(text_folder).save("Anna", FOUND)
    AgentOutputs(text_folder).save("Anna.Bob", "# words")
    return text_folder


def test_an_artifact_is_plain_text(folder: TextFolder) -> None:
    assert resolve_artifact("artifact://1", [folder]) == ArtifactText(
        text="one", media_type="text/plain"
    )


def test_artifacts_are_searched_in_all_folders(folder: TextFolder) -> None:
    other = TextFolder(None)
    for number in range(4):
        Artifacts(other).save("bash", f"other {number}")

    assert resolve_artifact("artifact://1", [folder, other]).text == "one"
    assert resolve_artifact("artifact://3", [folder, other]).text == "other 3"


def test_an_agents_output_is_markdown(folder: TextFolder) -> None:
    assert resolve_artifact("agent://Anna.Bob", [folder]) == ArtifactText(
        text="# words", media_type="text/markdown"
    )


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("Anna/a/b%20c/1/d", "text"),
        ("Anna/e", "null"),
        ("Anna/a/b c/0", "1"),
        ('Anna?q=.a["b c"][1].d', "text"),
        ('Anna?q=.a.["b c"].[-1]', '{\n  "d": "text"\n}'),
        ("Anna?q=.e", "null"),
    ],
)
def test_a_part_of_an_output_is_selected_by_path_or_query(
    folder: TextFolder, address: str, text: str
) -> None:
    assert resolve_artifact(f"agent://{address}", [folder]) == ArtifactText(
        text=text, media_type="application/json", is_extract=True
    )


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("artifact://7", "Artifact 7 not found. Available: 0, 1"),
        ("artifact://x", "artifact:// ID must be numeric, got: x"),
        ("artifact://../0", "artifact:// ID must be numeric, got: ../0"),
        ("artifact://", "artifact:// ID must be numeric, got: "),
        ("agent://Carl", "Not found: Carl. Available: Anna, Anna.Bob"),
        ("agent://", "Not found: . Available: Anna, Anna.Bob"),
        ("agent://Anna/e?q=.e", "agent://Anna/e?q=.e has both a path and a query."),
        ("agent://Anna/a/x", "The output of Anna has no 'x' at this path."),
        ("agent://Anna/a/b c/9", "The output of Anna has no '9' at this path."),
        ("agent://Anna/a/b c/x", "The output of Anna has no 'x' at this path."),
        ("agent://Anna/e/x", "The output of Anna has no 'x' at this path."),
        ("agent://Anna?q=a b", "Cannot understand the query 'a b' at ' b'."),
        ("rule://x", "Cannot resolve rule://x: unknown scheme."),
    ],
)
def test_an_unresolvable_address_raises_with_the_reason(
    folder: TextFolder, url: str, message: str
) -> None:
    with pytest.raises(NoSuchResource) as error:
        resolve_artifact(url, [folder])

    assert error.value.message == message


def test_a_part_of_an_output_that_is_not_json_raises(folder: TextFolder) -> None:
    with pytest.raises(NoSuchResource, match=r"The output of Anna\.Bob is not JSON"):
        resolve_artifact("agent://Anna.Bob/a", [folder])


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("artifact://1", "No session - artifacts unavailable"),
        ("agent://Anna", "No session - agent outputs unavailable"),
    ],
)
def test_resolving_without_a_session_or_a_directory_raises(
    tmp_path: Path, url: str, message: str
) -> None:
    with pytest.raises(NoSuchResource) as error:
        resolve_artifact(url, [])
    assert error.value.message == message

    with pytest.raises(NoSuchResource) as error:
        resolve_artifact(url, [TextFolder(tmp_path / "missing")])
    assert error.value.message == "This session has no artifacts and no outputs of agents yet."
