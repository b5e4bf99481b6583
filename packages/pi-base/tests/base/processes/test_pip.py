from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from pi.base.processes.pip import (
    Refusal,
    ReportedWheel,
    pip_command,
    pip_environment,
    read_report,
    refusal_in,
)
from pi.base.processes.pip_guard import REFUSED

WHEEL = "https://index.example/x-1-py3-none-any.whl"


def test_pip_installs_wheels_only() -> None:
    assert pip_command(["install", "--dry-run", "x"])[3:] == [
        "install",
        "--only-binary",
        ":all:",
        "--dry-run",
        "x",
    ]


def test_pip_gets_variables_for_indexes_but_not_for_other_requirements() -> None:
    kept = {
        "PIP_INDEX_URL": "https://user:password@index.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://more.example/simple",
        "PIP_KEYRING_PROVIDER": "subprocess",
        "PIP_CONFIG_FILE": "/etc/pip.conf",
        "PIP_CONSTRAINT": "/etc/constraints",
        "PIP_CERT": "/etc/ca.pem",
        "PIP_PROXY": "http://proxy.example",
        "HOME": "/home/me",  # for .netrc and pip.conf
    }
    dropped = dict.fromkeys(
        ("PIP_REQUIREMENT", "PIP_EDITABLE", "PIP_PYTHON", "PIP_NO_BINARY", "PIP_TARGET"), "x"
    )
    environ = pip_environment({**kept, **dropped, "PYTHONPATH": "/x", "API_KEY": "k"})

    assert environ == {**kept, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def test_wheelhouses_are_named_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    environ = pip_environment({"PIP_FIND_LINKS": "dist https://h.dev/x"})

    assert environ["PIP_FIND_LINKS"] == f"{tmp_path}/dist https://h.dev/x"


@pytest.mark.parametrize(
    ("output", "refusal"),
    [
        ("Collecting a\nProcessing /x (from a)\n", Refusal(requirement="/x", required_by="a")),
        (
            "Collecting b @ git+x (from a==1->c)",
            Refusal(requirement="b @ git+x", required_by="a==1"),
        ),
        ("Obtaining file:///x\n  Checking", Refusal(requirement="file:///x")),
        ("", Refusal(requirement="a requirement")),
    ],
)
def test_a_refusal_names_what_would_have_been_built(output: str, refusal: Refusal) -> None:
    assert refusal_in(output, f"{REFUSED} python\nERROR: …\n") == refusal
    assert refusal_in(output, "ERROR: …\n") is None


def item(url: str, **more: object) -> dict[str, object]:
    metadata = {"name": "X", "version": "1", "requires_dist": ["y"]}
    info = {"url": url, "archive_info": {"hashes": {"sha256": "ab"}}}
    return {"download_info": info, "metadata": metadata, **more}


@pytest.mark.parametrize(
    ("reported", "from_index"),
    [
        (item(WHEEL), True),
        (item(f"{WHEEL}#sha256=ab"), True),
        (item(WHEEL, is_direct=True), False),
        (item("https://index.example/x-1.tar.gz"), False),
        (item("file:///x"), False),
    ],
)
def test_only_a_wheel_that_was_found_by_its_name_is_from_an_index(
    reported: dict[str, object], from_index: bool
) -> None:
    (wheel,) = read_report(json.dumps({"install": [reported]}).encode())

    assert (wheel.name, wheel.version, wheel.sha256, wheel.requires) == ("X", "1", "ab", ("y",))
    assert wheel.from_index is from_index


def test_a_report_may_state_little() -> None:
    report = {"install": [{"download_info": {"url": WHEEL}}]}

    assert read_report(json.dumps(report).encode()) == [
        ReportedWheel(name="", version="", url=WHEEL)
    ]
    with pytest.raises(msgspec.MsgspecError):
        read_report(b"[]")
