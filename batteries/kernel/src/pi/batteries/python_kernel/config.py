"""Settings and environment variables of the kernels."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pi.extension import ExtensionAPI, Record

ToolMode: TypeAlias = Literal["ipy-only", "bash-only", "both"]
KernelMode: TypeAlias = Literal["session", "per-call"]

SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("eval.py", bool, False, "give models the python tool"),
    ("eval.js", bool, False, "give models the javascript tool"),
    ("python.toolMode", str, "", "ipy-only, bash-only or both"),
    ("python.kernelMode", str, "session", "session or per-call"),
    ("python.interpreter", str, "", "path of the interpreter"),
    ("python.sharedGateway", bool, True, "false is rejected: there are no private gateways"),
)
TRUE = ("1", "true", "yes", "on")
_BOTH = (*TRUE, "mix", "both")
"""Values of ``PI_PY`` that enable the tool beside bash."""


class KernelConfig(Record):
    """The values of the settings and environment variables."""

    tool_mode: ToolMode = "bash-only"
    javascript: bool = False
    refused: frozenset[str] = frozenset()
    """Tools that a variable switches off, also if ``--tools`` names them."""
    kernel_mode: KernelMode = "session"
    interpreter: str = ""
    """``python.interpreter``: a path; empty to search for one."""
    shared_gateway: bool = True
    gateway_url: str = ""
    gateway_token: str = ""
    traced: bool = False
    """Whether frames are logged (``PI_PYTHON_IPC_TRACE``)."""
    checked: bool = True
    """Whether an interpreter must be found before the tool is offered."""
    warmed: bool = True
    """Whether the kernel is started with the first prompt."""


def read_config(pi: ExtensionAPI) -> KernelConfig:
    """Return the configuration."""
    environ, settings = pi.context.environ, pi.settings
    mode = tool_mode(
        environ.get("PI_PY", ""), settings.get("python.toolMode"), enabled=settings.get("eval.py")
    )
    javascript = environ.get("PI_JS", "").strip().lower()
    off = {"python"} if environ.get("PI_PY") and mode == "bash-only" else set[str]()
    if javascript and javascript not in TRUE:
        off.add("javascript")
    skips = environ.get("PI_PYTHON_SKIP_CHECK") == "1"
    is_test = "test" in (environ.get("BUN_ENV"), environ.get("NODE_ENV"))
    return KernelConfig(
        tool_mode=mode,
        javascript=javascript in TRUE if javascript else settings.get("eval.js"),
        refused=frozenset(off),
        kernel_mode="per-call" if settings.get("python.kernelMode") == "per-call" else "session",
        interpreter=settings.get("python.interpreter"),
        shared_gateway=settings.get("python.sharedGateway"),
        gateway_url=environ.get("PI_PYTHON_GATEWAY_URL", "").rstrip("/"),
        gateway_token=environ.get("PI_PYTHON_GATEWAY_TOKEN", ""),
        traced=environ.get("PI_PYTHON_IPC_TRACE") == "1",
        checked=not (skips or is_test),
        warmed=not (skips or is_test),
    )


def tool_mode(variable: str, setting: str, *, enabled: bool) -> ToolMode:
    """Return which of bash and python are active. ``PI_PY`` overrides the settings."""
    variable = variable.strip().lower()
    if variable in _BOTH:
        return "both"
    if variable:
        # "0", "bash" and every other value switch it off.
        return "ipy-only" if variable == "py" else "bash-only"
    if setting in ("ipy-only", "bash-only", "both"):
        return setting  # type: ignore[return-value]
    return "both" if enabled else "bash-only"
