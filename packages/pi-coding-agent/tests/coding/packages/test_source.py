from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.packages.source import (
    BadSource,
    GitSource,
    LocalSource,
    NpmSource,
    PypiSource,
    Source,
    parse_source,
    stored_form,
    without_password,
)

BASE = Path("/srv/site")


def git(url: str, *segments: str, ref: str = "") -> GitSource:
    return GitSource(url=url, segments=segments, ref=ref)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("npm:one", NpmSource(name="one")),
        ("npm:@a/b@1.2.3", NpmSource(name="@a/b", version="1.2.3")),
        ("npm:one@^1.0 || 2", NpmSource(name="one", version="^1.0 || 2")),
        ("pypi:My_Pkg", PypiSource(name="my-pkg")),
        ("pypi:a.b[x,y] == 1.0", PypiSource(name="a-b", extras="[x,y]", version="1.0")),
        ("git:Host.dev/o/r", git("https://Host.dev/o/r", "host.dev", "o", "r")),
        ("git:host.dev/o/r@v1", git("https://host.dev/o/r", "host.dev", "o", "r", ref="v1")),
        ("git:git@h.dev:o/r.git@main", git("git@h.dev:o/r.git", "h.dev", "o", "r", ref="main")),
        ("git@host.dev:o/r", git("git@host.dev:o/r", "host.dev", "o", "r")),
        ("https://host.dev/o/r.git", git("https://host.dev/o/r.git", "host.dev", "o", "r")),
        ("https://host.dev/@o/r", git("https://host.dev/@o/r", "host.dev", "@o", "r")),
        ("https://h.dev/o/r@a/b", git("https://h.dev/o/r", "h.dev", "o", "r", ref="a/b")),
        ("https://h.dev:8443/o/r", git("https://h.dev:8443/o/r", "h.dev-8443", "o", "r")),
        ("ssh://git@h.dev/o/r@v2", git("ssh://git@h.dev/o/r", "h.dev", "o", "r", ref="v2")),
        ("git://h.dev/o/r", git("git://h.dev/o/r", "h.dev", "o", "r")),
        ("git:file:///pk/x@v1", git("file:///pk/x", "file", "pk", "x", ref="v1")),
        ("file:///a@b/x", git("file:///a@b/x", "file", "a@b", "x")),
        ("./x/../y", LocalSource(path=BASE / "y")),
        ("/pk/x.py", LocalSource(path=Path("/pk/x.py"))),
        ("plain", LocalSource(path=BASE / "plain")),
    ],
)
def test_a_source_is_parsed(text: str, source: Source) -> None:
    assert parse_source(text, BASE) == source


def test_a_branch_with_a_slash_is_distinguished_from_a_folder_with_an_at(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a@b" / "x").mkdir(parents=True)
    url = f"file://{tmp_path}"

    branch = parse_source(f"{url}/a@feature/x", BASE)
    folder = parse_source(f"{url}/a@b/x", BASE)

    assert isinstance(branch, GitSource)
    assert isinstance(folder, GitSource)
    assert (branch.url, branch.ref) == (f"{url}/a", "feature/x")
    assert (folder.url, folder.ref) == (f"{url}/a@b/x", "")


@pytest.mark.behaviour("package-installs-are-contained")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "npm:",
        "npm:../x",
        "npm:@a/../../x",
        "npm:one@file:../x",
        "npm:--prefix",
        "pypi:../x",
        "pypi:-r requirements.txt",
        "git:host.dev/../../../x/y",
        "git:../o/r",
        "git:host.dev/r",
        "git:-oProxyCommand=x/o/r",
        "ssh://-oProxyCommand=x@host.dev/o/r",
        "https://host.dev/o/..%2f/..",
        "https://host.dev:x/o/r",
        "https://host.dev/o/r@--upload-pack=x",
        "https://host.dev/o/.git",
        "file:///a/../b",
        "~no-such-user/x",
        "a\0b",
    ],
)
def test_an_invalid_or_unsafe_source_is_rejected(text: str) -> None:
    with pytest.raises(BadSource):
        parse_source(text, BASE)


@given(st.text(max_size=40), st.sampled_from(["npm:", "pypi:", "git:", "https://h.dev/", ""]))
def test_any_text_is_a_source_or_is_refused(text: str, lead: str) -> None:
    try:
        source = parse_source(lead + text, BASE)
    except BadSource:
        return
    if isinstance(source, GitSource):
        assert not {"", ".", ".."} & set(source.segments)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("npm:a@1", "npm:a"),
        ("git:h.dev/o/r@v1", "ssh://git@H.dev/o/r.git"),
        ("pypi:A.b==1", "pypi:a_b"),
        ("./x", "/srv/site/x/"),
    ],
)
def test_a_package_has_one_identity_for_all_its_versions(one: str, other: str) -> None:
    assert parse_source(one, BASE).identity == parse_source(other, BASE).identity


def test_a_link_to_a_folder_has_the_identity_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert parse_source("link", tmp_path).identity == parse_source("real", tmp_path).identity


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("/pk/x", "../../pk/x"),
        ("/srv/site/x", "./x"),
        (" npm:a@1 ", "npm:a@1"),
    ],
)
def test_a_path_is_stored_relative_to_the_settings(text: str, stored: str) -> None:
    assert stored_form(parse_source(text, BASE), text, BASE) == stored


def test_requirements_for_npm_and_pip_include_the_version() -> None:
    assert [
        NpmSource(name="a").spec,
        NpmSource(name="a", version="2").spec,
        PypiSource(name="a", extras="[x]", version="2").requirement,
    ] == ["a@latest", "a@2", "a[x]==2"]


def test_a_password_is_not_shown() -> None:
    text = without_password("fatal: https://me:secret@h.dev/o/r\x1b[2J not found")

    assert text == "fatal: https://h.dev/o/r not found"


def test_a_message_shows_no_password() -> None:
    with pytest.raises(BadSource) as caught:
        parse_source("https://me:secret@h.dev/../r", BASE)

    assert "secret" not in caught.value.explain()
