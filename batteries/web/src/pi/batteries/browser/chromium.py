"""Finds Chromium and starts it with a profile of its own."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pi.batteries.browser.devtools import PIPES
from pi.extension import Child, ExtensionAPI, HttpError, Scope, ToolFailed, is_running

VARIABLE = "PUPPETEER_EXECUTABLE_PATH"
NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "microsoft-edge-stable", "brave-browser"),
)
PLACES = (
    "/usr/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/opt/google/chrome/chrome",
    "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
WIDTH, HEIGHT = 1280, 800
MAX_FOLDER = 28
"""Characters. The path of Chromium's socket has about 75 more, and macOS allows 104."""
_PREFIX = "pi-browser-"
NOWHERE = ".invalid"
"""Top-level domain that never resolves (RFC 2606)."""
SERVICES = frozenset(
    {
        *("clients1.google.com", "clients2.google.com", "clients4.google.com"),
        *("android.clients.google.com", "mtalk.google.com", "sb-ssl.google.com"),
        *("update.googleapis.com", "safebrowsing.googleapis.com", "edgedl.me.gvt1.com"),
        *("content-autofill.googleapis.com", "passwordsleakcheck-pa.googleapis.com"),
        *("optimizationguide-pa.googleapis.com", "chromewebstore.googleapis.com"),
    }
)
"""Google services that receive data about pages and passwords; no option disables all of them."""


def find_chromium(environ: Mapping[str, str]) -> str:
    """The path of the program. Raises ``ToolFailed`` with the places that were searched."""
    if sys.platform == "win32":
        raise ToolFailed("The browser tool works on Linux and macOS only.")
    if named := environ.get(VARIABLE):
        if os.access(named, os.X_OK) and Path(named).is_file():
            return named
        raise ToolFailed(f"{VARIABLE} names {named}, which is not a program. Correct or unset it.")
    for name in NAMES:
        if program := shutil.which(name, path=environ.get("PATH", "")):
            return program
    for path in PLACES:
        if os.access(path, os.X_OK):
            return path
    raise ToolFailed(
        f"No Chromium was found. Looked in {VARIABLE} (not set), in PATH for {', '.join(NAMES)},"
        f" and at {', '.join(PLACES)}. Install it (Debian: apt install chromium; macOS: brew"
        f" install --cask chromium), or set {VARIABLE} to an installed one."
    )


def command_line(program: str, profile: Path, proxy_port: int, *, is_root: bool) -> list[str]:
    """The command that starts Chromium without a window, with network access by the proxy only."""
    options = [
        "--headless",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
        f"--window-size={WIDTH},{HEIGHT}",
        f"--proxy-server=http://127.0.0.1:{proxy_port}",
        "--proxy-bypass-list=<-loopback>",
        # Connections that bypass the proxy fail: names are not resolved, and WebRTC and QUIC get
        # no UDP.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-sync",
        "--disable-breakpad",
        "--disable-crash-reporter",
        "--disable-dev-shm-usage",
        # Chromium would send requests about accounts and form fields to Google.
        f"--gaia-url=https://gaia{NOWHERE}",
        "--disable-features=AutofillServerCommunication,PasswordLeakDetection,Translate,OptimizationHints,MediaRouter,"
        "DialMediaRouteProvider",
        "--disable-client-side-phishing-detection",
        "--disable-domain-reliability",
        "--metrics-recording-only",
        "--mute-audio",
        "--password-store=basic",
        "--use-mock-keychain",
    ]
    if is_root:  # Chromium refuses to start otherwise
        options.append("--no-sandbox")
    return [*PIPES, program, *options, "--no-startup-window"]


async def start_chromium(pi: ExtensionAPI, scope: Scope, proxy_port: int) -> Child:
    """Start Chromium. The process is ended and its profile removed when ``scope`` is closed."""
    program = find_chromium(pi.context.environ)
    folder = profile_folder(tempfile.gettempdir())
    await asyncio.to_thread(sweep_profiles, folder)
    profile = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=folder))
    # Registered before the process, so that the profile is removed after the process has ended.
    scope.on_close(lambda: asyncio.to_thread(shutil.rmtree, profile, ignore_errors=True))
    arguments = command_line(program, profile, proxy_port, is_root=os.geteuid() == 0)
    # Chromium leaves sockets in the temporary folder when it is killed.
    env = {"TMPDIR": str(profile)}
    return await pi.spawn(arguments, scope=scope, env=env, cwd=profile, kind="browser")


def check_host(host: str) -> None:
    """Raise ``HttpError`` for a host that Chromium contacts for itself, not for a page."""
    if host.endswith(NOWHERE) or host in SERVICES:
        raise HttpError("The host is not for pages.")


def profile_folder(temporary: str) -> Path:
    """The folder of profiles. Chromium ends if the path of its socket there is too long."""
    return Path(temporary if len(temporary) <= MAX_FOLDER else "/tmp")


def sweep_profiles(folder: Path) -> None:
    """Remove the profiles that killed processes of pi left behind."""
    for path in folder.glob(f"{_PREFIX}*"):
        matched = re.match(rf"{_PREFIX}(\d+)-", path.name)
        if matched is not None and not is_running(int(matched[1])):
            shutil.rmtree(path, ignore_errors=True)  # profiles of other users cannot be removed
