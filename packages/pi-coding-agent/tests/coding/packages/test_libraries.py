from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi.base.installation import Installation
from pi.base.libraries import is_installed
from pi.base.records import replace
from pi.coding.packages.libraries import (
    LibrariesNotInstalled,
    Library,
    install_planned,
    plan_libraries,
)
from tests.ai.local.index_server import index_of
from tests.ai.local.wheels import small_wheel

SIZE = 2_400_000
REQUIREMENT = "tiny-weights>=1"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """The running installation, as if its environment could not be changed."""
    before = list(sys.path)
    environ = {"PI_CODING_AGENT_DIR": str(tmp_path / "agent"), "PATH": os.environ["PATH"]}
    yield replace(Installation.current(environ), keeps_libraries=False)
    sys.path[:] = before


@pytest.mark.slow
async def test_a_library_is_named_with_its_size_and_installed_beside_the_environment(
    tmp_path: Path, installation: Installation
) -> None:
    small_wheel(tmp_path / "wheels", os.urandom(SIZE))
    reports: list[str] = []

    async with index_of(tmp_path / "wheels") as index:
        environ = {**index.environ, "PI_CODING_AGENT_DIR": str(tmp_path / "agent")}
        plan = await plan_libraries(
            [REQUIREMENT], environ, purpose="tiny-battery", installation=installation
        )
        assert index.range_starts == []  # nothing but metadata is read before the Yes
        assert not installation.libraries.exists()
        assert not is_installed("tiny-weights")
        await install_planned(plan, environ, reports.append)

    assert plan.title == "Install the library that tiny-battery needs (2.4 MB)?"
    assert plan.text.splitlines() == [
        "• tiny-weights 1.0 (2.4 MB)",
        f"With pip, into {installation.libraries}",
    ]
    assert reports[0] == "Installing tiny-weights…"
    assert any("MB" in text for text in reports[1:])
    assert is_installed("tiny-weights")
    import tiny_weights  # type: ignore[import-not-found]

    assert [*tiny_weights.__path__] == [str(installation.libraries / "tiny_weights")]


@pytest.mark.slow
async def test_sizes_of_a_folder_of_wheels_are_those_of_its_files(
    tmp_path: Path, installation: Installation
) -> None:
    small_wheel(tmp_path / "wheels", os.urandom(SIZE))
    environ = {
        "PATH": os.environ["PATH"],
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
    }

    plan = await plan_libraries(
        [REQUIREMENT], environ, purpose="tiny-battery", installation=installation
    )

    assert plan.title == "Install the library that tiny-battery needs (2.4 MB)?"
    assert "• tiny-weights 1.0 (2.4 MB)" in plan.text


async def test_offline_nothing_is_tried_and_the_command_is_the_hint(
    installation: Installation,
) -> None:
    with pytest.raises(LibrariesNotInstalled, match="and pi is offline") as failed:
        await plan_libraries(
            [REQUIREMENT], {}, purpose="tiny-battery", offline=True, installation=installation
        )

    assert failed.value.hint == f"Install it: {installation.command([REQUIREMENT])}"


@pytest.mark.slow
async def test_a_library_that_the_index_lacks_is_an_error_with_the_command(
    tmp_path: Path, installation: Installation
) -> None:
    environ = {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}

    with pytest.raises(LibrariesNotInstalled, match="tiny-weights: not installed") as failed:
        await plan_libraries(
            [REQUIREMENT], environ, purpose="tiny-battery", installation=installation
        )

    assert str(installation.libraries) in failed.value.hint


def test_sizes_are_added_and_left_out_if_one_is_unknown() -> None:
    assert Library(name="a", version="1", size=590_000).text == "a 1 (0.6 MB)"
    assert Library(name="a", version="1", size=33_800_000).text == "a 1 (34 MB)"
    assert Library(name="a", version="1").text == "a 1"


async def test_a_folder_that_cannot_be_written_is_named_and_no_command(
    tmp_path: Path, installation: Installation
) -> None:
    folder = tmp_path / "file" / "libraries"
    folder.parent.touch()
    with pytest.raises(LibrariesNotInstalled) as caught:
        await plan_libraries(
            [REQUIREMENT],
            dict(os.environ),
            purpose="tiny-battery",
            installation=replace(installation, libraries=folder),
        )
    assert caught.value.hint == f"Make {folder} writable, and try again."
