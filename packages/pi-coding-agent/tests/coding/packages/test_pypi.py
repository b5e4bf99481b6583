from __future__ import annotations

import json
import os
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pi import version
from pi.base.records import replace
from pi.coding.packages.indexes import RECORD, install_pypi
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import InstallFailed, PackageLocation, PypiSource
from pi.coding.packages.staging import Change, Outcome, approve_all, staging
from tests.coding.packages.making import make_package, make_wheel, snapshot
from tests.sampling import sampled


async def install(
    location: PackageLocation,
    programs: Programs,
    name: str = "pi-tips",
    version: str = "",
    *,
    update: bool = False,
    force: bool = False,
) -> Outcome:
    source = PypiSource(name=name, version=version)
    with staging(location.base) as work:
        return await install_pypi(
            source, location, programs, work, update=update, force=force, approve=approve_all
        )


def same(change: Change, version: str) -> Outcome:
    return Outcome(change=change, before=version, after=version)


@pytest.mark.slow
async def test_missing_dependencies_of_a_package_are_installed_with_it(
    wheelhouse: Path, location: PackageLocation, programs: Programs
) -> None:
    needs = ("msgspec", "pi-harness", "pi-inner==2.0")
    wheel = make_wheel(wheelhouse, "pi-tips", "1.0", "pi_tips/skills/x/SKILL.md", requires=needs)
    inner = make_wheel(wheelhouse, "pi-inner", "2.0")

    assert await install(location, programs) == Outcome(change="fetched", after="1.0")

    folder = location.pypi / "pi-tips"
    assert sorted(path.name for path in folder.iterdir()) == [
        RECORD,
        "pi_inner",
        "pi_inner-2.0.dist-info",
        "pi_tips",
        "pi_tips-1.0.dist-info",
    ]
    assert json.loads((folder / RECORD).read_text()) == {
        "wheels": {
            "pi-tips==1.0": f"sha256:{sha256(wheel.read_bytes()).hexdigest()}",
            "pi-inner==2.0": f"sha256:{sha256(inner.read_bytes()).hexdigest()}",
        }
    }


@pytest.mark.slow
async def test_all_distributions_of_a_checkout_count_as_installed(
    wheelhouse: Path,
    location: PackageLocation,
    programs: Programs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs = ("pi-harness", "pi-ai>=0.1", "pi-harness-mcp")
    make_wheel(wheelhouse, "pi-tips", "1.0", requires=needs)
    checkout = tmp_path / "checkout" / f"pi_harness-{version.__version__}.dist-info"
    checkout.mkdir(parents=True)
    (checkout / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: pi-harness\nVersion: {version.__version__}\n"
    )
    (checkout / "entry_points.txt").write_text(
        "[pi.distributions]\npi-ai = pi.ai\npi-harness-mcp = pi.batteries.mcp\n"
    )
    monkeypatch.syspath_prepend(checkout.parent)

    assert await install(location, programs) == Outcome(change="fetched", after="1.0")

    assert sorted(path.name for path in (location.pypi / "pi-tips").iterdir()) == [
        RECORD,
        "pi_tips",
        "pi_tips-1.0.dist-info",
    ]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.behaviour("package-installs-are-contained")
async def test_an_update_never_downgrades_unless_a_version_is_pinned(
    wheelhouse: Path, location: PackageLocation, programs: Programs
) -> None:
    make_wheel(wheelhouse, "pi-tips", "1.0")
    await install(location, programs)
    new = make_wheel(wheelhouse, "pi-tips", "1.1")

    assert await install(location, programs, version="1.0", update=True) == same("pinned", "1.0")
    assert await install(location, programs, version="1.0") == same("current", "1.0")
    assert await install(location, programs, update=True) == Outcome(
        change="fetched", before="1.0", after="1.1"
    )

    new.unlink()
    assert await install(location, programs, update=True, force=True) == same("kept", "1.1")
    assert await install(location, programs, version="1.0", update=True) == Outcome(
        change="fetched", before="1.1", after="1.0"
    )


@pytest.mark.full
@pytest.mark.slow
async def test_a_wheel_that_has_changed_is_refused(
    wheelhouse: Path, location: PackageLocation, programs: Programs
) -> None:
    make_wheel(wheelhouse, "pi-tips", "1.0")
    await install(location, programs)
    before = snapshot(location.base)
    make_wheel(wheelhouse, "pi-tips", "1.0", "pi_tips/evil.py")

    with pytest.raises(InstallFailed, match="is not the file that was installed before"):
        await install(location, programs, force=True)

    assert snapshot(location.base) == before


@pytest.mark.full
async def test_a_source_distribution_is_rejected(
    wheelhouse: Path, location: PackageLocation, programs: Programs
) -> None:
    (wheelhouse / "pi_tips-1.0.tar.gz").write_bytes(b"a source distribution")

    with pytest.raises(InstallFailed, match=r"pip install failed: .*No matching distribution"):
        await install(location, programs)

    assert list(location.base.iterdir()) == []


async def test_a_distribution_that_pi_itself_uses_is_rejected(
    location: PackageLocation, programs: Programs
) -> None:
    with pytest.raises(InstallFailed, match="is part of the Python that pi runs in"):
        await install(location, programs, "msgspec")


class Quiet(SimpleHTTPRequestHandler):
    """Serves folders with links, which is all that a simple index needs."""

    def log_message(self, format: str, *args: object) -> None: ...


class Closed(Quiet):
    """An index that requires a name and a password."""

    def do_GET(self) -> None:
        credentials = b64encode(b"me:secret").decode()
        if self.headers.get("Authorization") == f"Basic {credentials}":
            super().do_GET()
        else:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()


@contextmanager
def index(folder: Path, handler: type[Quiet] = Quiet) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.full
@pytest.mark.slow
async def test_the_configured_package_index_is_used(
    tmp_path: Path, location: PackageLocation, programs: Programs
) -> None:
    make_wheel(tmp_path / "index" / "simple" / "pi-tips", "pi-tips", "1.0")
    with index(tmp_path / "index") as url:
        environ = {**programs.environ, "PIP_INDEX_URL": url, "PIP_NO_INDEX": "0"}
        online = replace(programs, environ=environ)

        with pytest.raises(InstallFailed, match="No matching distribution"):
            await install(location, replace(online, offline=True))
        assert await install(location, online) == Outcome(change="fetched", after="1.0")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("way", sampled(["netrc", "keyring"], keep=1))
async def test_credentials_of_an_index_are_read_from_netrc_or_keyring(
    tmp_path: Path, location: PackageLocation, programs: Programs, way: str
) -> None:
    make_wheel(tmp_path / "index" / "simple" / "pi-tips", "pi-tips", "1.0")
    with index(tmp_path / "index", Closed) as url:
        environ = {**programs.environ, "PIP_NO_INDEX": "0"}
        if way == "netrc":
            Path(os.environ["HOME"], ".netrc").write_text(
                "machine 127.0.0.1 login me password secret\n"
            )
        else:  # the only program that pip may start
            keyring = make_package(tmp_path / "bin") / "keyring"
            answer = json.dumps({"username": "me", "password": "secret"})
            keyring.write_text(
                f"#!/bin/sh\ncase $1 in --mode=creds) echo '{answer}';; *) echo secret;; esac\n"
            )
            keyring.chmod(0o755)
            environ["PATH"] = f"{keyring.parent}:{environ['PATH']}"
            environ["PIP_KEYRING_PROVIDER"] = "subprocess"
            url = url.replace("127", "me@127", 1)
        outcome = await install(
            location, replace(programs, environ={**environ, "PIP_INDEX_URL": url})
        )

    assert outcome == Outcome(change="fetched", after="1.0")
