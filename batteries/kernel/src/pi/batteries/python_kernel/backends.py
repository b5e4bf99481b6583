"""Creates kernels: Python or JavaScript, as a child process or through a Jupyter gateway."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from pi.batteries.python_kernel.config import KernelConfig
from pi.batteries.python_kernel.jupyter_gateway import Gateway, GatewayConnection, start_code
from pi.batteries.python_kernel.kernel import (
    Connect,
    Kernel,
    KernelPool,
    KernelUnavailable,
    SetupCode,
)
from pi.batteries.python_kernel.process import (
    FOLDER,
    JAVASCRIPT_RUNNER,
    PYTHON_RUNNER,
    Interpreter,
    ProcessConnection,
    find_javascript,
    find_python,
    kernel_environment,
)
from pi.extension import (
    Child,
    ConsentRequest,
    ExtensionAPI,
    PiError,
    ResourceItem,
    Scope,
    Where,
)

log = logging.getLogger(__name__)

MODULES = "kernel modules"
"""Kind of the resources that run in every Python kernel before the first cell."""
NO_LOCAL_GATEWAY = "Shared Python gateway required; local gateways are disabled"


class Backend(Protocol):
    """Kernels of one language."""

    tool: str
    """The name of the tool, which is that of the language."""
    label: str

    def check(self) -> None:
        """Raise ``NoInterpreter`` if no kernel can be started."""

    async def prepare(self, cwd: Path) -> None:
        """Choose the interpreter for a folder. May ask the user for consent to project code."""

    def is_prepared(self, cwd: Path) -> bool:
        """Whether ``prepare`` would not ask the user."""

    def make(self, cwd: Path, scope: Scope, pool: KernelPool) -> Kernel:
        """Return a kernel that is not started yet. ``prepare`` must have been called."""

    def describe(self, cwd: Path) -> str:
        """Return the path of the interpreter, or the URL of the gateway. For the user."""


class PythonBackend:
    """Python: an interpreter of the user or the project, or a Jupyter gateway."""

    tool, label = "python", "Python"

    def __init__(self, pi: ExtensionAPI, config: KernelConfig) -> None:
        self._pi = pi
        self._config = config
        self._interpreters: dict[Path, Interpreter] = {}
        self._setup: Sequence[SetupCode] = ()
        pi.context.resources.add_kind(MODULES, _parse_module, lambda module: module.name)
        pi.context.resources.add_source(MODULES, _project_modules, priority=1)
        pi.context.resources.add_source(MODULES, _user_modules)

    def check(self) -> None:
        """Raise ``NoInterpreter`` if there is no interpreter."""
        if not self._config.gateway_url:
            self._find(self._pi.context.cwd, allows_project=True)

    def is_prepared(self, cwd: Path) -> bool:
        """Whether no code of the project is involved, or the user has decided about it."""
        if cwd in self._interpreters:
            return True
        modules = self._pi.context.resources.load(MODULES)
        projects = [module for module in modules if module.scope == "project"]
        interpreter = None if self._config.gateway_url else self._find(cwd, allows_project=True)
        return not projects and (interpreter is None or not interpreter.is_project)

    async def prepare(self, cwd: Path) -> None:
        """Choose the interpreter and the modules; asks the user about those of the project."""
        if not self._config.shared_gateway:
            raise KernelUnavailable(NO_LOCAL_GATEWAY, hint="Remove python.sharedGateway.")
        if cwd in self._interpreters:
            return
        self._setup = await self._allowed_setup()
        if self._config.gateway_url:
            self._interpreters[cwd] = Interpreter(path=self._config.gateway_url)
            return
        ctx = self._pi.context
        interpreter = self._find(cwd, allows_project=ctx.is_project_trusted())
        if interpreter.is_project and not await ctx.consent.allowed(
            [interpreter.consent_request()]
        ):
            interpreter = self._find(cwd, allows_project=False)
        self._interpreters[cwd] = interpreter

    def make(self, cwd: Path, scope: Scope, pool: KernelPool) -> Kernel:
        """Return a kernel of the interpreter or the gateway."""
        if self._config.gateway_url:
            gateway = Gateway(pool, self._config.gateway_url, self._config.gateway_token)
            begin = SetupCode(name="start", code=start_code(str(cwd), self._gateway_variables()))
            return Kernel(
                lambda inner: GatewayConnection(gateway, inner, traced=self._config.traced),
                scope,
                label=self.label,
                setup=(begin, *self._setup),
            )
        interpreter = self._interpreters[cwd]
        environ = kernel_environment(self._pi.context.command_environ, interpreter)
        command = (interpreter.path, str(PYTHON_RUNNER))
        connect = _process(self._pi, self._config, pool, self.label, command, cwd, environ)
        return Kernel(connect, scope, label=self.label, setup=self._setup)

    def describe(self, cwd: Path) -> str:
        """The interpreter or gateway that was chosen, or would be chosen now."""
        if cwd in self._interpreters:
            return self._interpreters[cwd].path
        if self._config.gateway_url:
            return self._config.gateway_url
        return self._find(cwd, allows_project=self._pi.context.is_project_trusted()).path

    def _find(self, cwd: Path, *, allows_project: bool) -> Interpreter:
        environ, chosen = self._pi.context.environ, self._config.interpreter
        return find_python(cwd, environ, chosen=chosen, allows_project=allows_project)

    def _gateway_variables(self) -> dict[str, str]:
        """The ``PI_`` variables: paths of this machine are invalid on the gateway's machine."""
        environ = kernel_environment(self._pi.context.command_environ)
        return {name: environ[name] for name in environ if name.startswith("PI_")}

    async def _allowed_setup(self) -> tuple[SetupCode, ...]:
        """The helpers of pi, then the modules in the order of their names.

        A module of the project replaces one of the user if it is allowed.
        """
        modules = self._pi.context.resources.load(MODULES)
        requests = [_module_request(item) for item in modules if item.scope == "project"]
        allowed = {request.source for request in await self._pi.context.consent.allowed(requests)}
        chosen: dict[str, SetupCode] = {}
        for item in modules:
            if item.scope != "project" or str(item.path) in allowed:
                chosen.setdefault(item.key, item.value)
        prelude = (FOLDER / "prelude.py").read_text("utf-8")
        return (
            SetupCode(name="prelude.py", code=prelude),
            *(chosen[name] for name in sorted(chosen)),
        )


class JavaScriptBackend:
    """JavaScript with Node, or with Bun."""

    tool, label = "javascript", "JavaScript"

    def __init__(self, pi: ExtensionAPI, config: KernelConfig) -> None:
        self._pi = pi
        self._config = config

    def check(self) -> None:
        """Raise ``NoInterpreter`` if there is neither Node nor Bun."""
        find_javascript(self._pi.context.cwd, self._pi.context.environ)

    def is_prepared(self, cwd: Path) -> bool:
        """Always true: programs of the project are never used."""
        return True

    async def prepare(self, cwd: Path) -> None:
        """Find Node or Bun."""
        self.check()

    def make(self, cwd: Path, scope: Scope, pool: KernelPool) -> Kernel:
        """Return a kernel of Node or Bun."""
        program = find_javascript(cwd, self._pi.context.environ)
        # Node cannot duplicate descriptors: the shell does, see runner.js.
        redirected = 'exec "$@" 3>&1 4<&0 1>&2 0</dev/null'
        command = ("/bin/sh", "-c", redirected, "sh", program, str(JAVASCRIPT_RUNNER))
        environ = kernel_environment(self._pi.context.command_environ)
        connect = _process(self._pi, self._config, pool, self.label, command, cwd, environ)
        return Kernel(connect, scope, label=self.label)

    def describe(self, cwd: Path) -> str:
        """The path of Node or Bun."""
        return find_javascript(cwd, self._pi.context.environ)


def _process(
    pi: ExtensionAPI,
    config: KernelConfig,
    pool: KernelPool,
    label: str,
    command: Sequence[str],
    cwd: Path,
    environ: dict[str, str],
) -> Connect:
    async def spawn(scope: Scope) -> Child:
        return await pi.spawn(command, cwd=cwd, env=environ, scope=scope, kind="kernel")

    async def start(scope: Scope) -> Child:
        try:
            return await spawn(scope)
        except PiError as error:
            full = (os.strerror(errno.EMFILE), os.strerror(errno.ENFILE))
            if not any(text in error.message for text in full):
                raise
            # Idle kernels hold descriptors; their variables are lost.
            await pool.close_idle()
            return await spawn(scope)

    return lambda scope: ProcessConnection(start, scope, label=label, traced=config.traced)


def _parse_module(text: str, path: Path) -> SetupCode:
    return SetupCode(name=path.name, code=text)


def _module_request(item: ResourceItem) -> ConsentRequest:
    return ConsentRequest(
        kind="kernel module",
        name=item.key,
        source=str(item.path),
        definition={"code": item.value.code},
    )


def _project_modules(locations: Where) -> Iterator[Path]:
    folder = locations.cwd / ".pi" / "modules"
    if locations.allows(folder):
        yield from sorted(folder.glob("*.py"))


def _user_modules(locations: Where) -> Iterator[Path]:
    yield from sorted((locations.agent_dir / "modules").glob("*.py"))
