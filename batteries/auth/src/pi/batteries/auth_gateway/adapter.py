"""Registers ``pi auth-gateway`` and ``/auth-gateway``, and runs their subcommands."""

from __future__ import annotations

import asyncio
from typing import Any

from pi.base.server_guard import guard_for, is_loopback, make_token, port_number, read_token
from pi.coding.extension_host.contributions.commands import split_words
from pi.extension import CommandContext, ExtensionAPI, HttpError, PiError, install_hint, one_line

WORDS = ("serve", "token", "status", "check")
PORT = 4000
USAGE = """\
Usage: pi auth-gateway serve [--host ADDRESS] [--port N] [--no-auth]
pi auth-gateway token [--rotate]
pi auth-gateway status [--port N]
pi auth-gateway check [--strict]"""


class GatewayCommands:
    """The subcommands ``serve``, ``token``, ``status`` and ``check``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def run(self, arguments: str, ctx: CommandContext) -> None:
        """``pi auth-gateway …``."""
        match split_words(arguments, usage=USAGE):
            case ["serve"]:
                await self._serve(ctx)
            case ["token"]:
                ctx.write(f"{make_token(self._token_file, new=bool(ctx.flags.get('rotate')))}\n")
            case ["status"] | []:
                await self._status(ctx)
            case ["check"]:
                await self._check(ctx)
            case _:
                raise PiError("Unknown words after auth-gateway.", hint=USAGE)

    @property
    def _token_file(self) -> Any:
        return self._pi.data_directory() / "token"

    async def _serve(self, ctx: CommandContext) -> None:
        if ctx.has_ui:
            raise PiError("A gateway runs in a terminal of its own.", hint="pi auth-gateway serve")
        try:
            from pi.batteries.auth_gateway.server import GatewayServer
        except ModuleNotFoundError as error:
            raise PiError(
                f"The gateway needs {error.name}.",
                hint=install_hint("broker"),
            ) from error
        host = str(ctx.flags.get("host") or "127.0.0.1")
        token = make_token(self._token_file)
        guard = guard_for(host, token, no_auth=bool(ctx.flags.get("no-auth")))
        self._pi.auth.hide(token)
        server = GatewayServer(
            self._pi.models, guard, self._pi.scope.clock, self._report, self._pi.auth.source
        )
        async with server.serving(host, port_number(ctx.flags.get("port"), PORT)) as port:
            bracketed = f"[{host}]" if ":" in host else host
            count = len(self._pi.models.available())
            models = "1 model" if count == 1 else f"{count} models"
            ctx.write(f"The gateway listens on http://{bracketed}:{port}/v1 with {models}\n")
            if not is_loopback(host):
                self._report("The connection is not encrypted: use a tunnel or a TLS proxy.")
            await asyncio.Event().wait()

    def _report(self, text: str) -> None:
        line = self._pi.redact(one_line(text), "log")
        self._pi.log.warning("%s", line)
        self._pi.warn(line)

    async def _status(self, ctx: CommandContext) -> None:
        url = f"http://127.0.0.1:{port_number(ctx.flags.get('port'), PORT)}"
        token = read_token(self._token_file) or ""
        try:
            response = await self._pi.http.request(
                f"{url}/v1/usage", headers={"Authorization": f"Bearer {token}"}
            )
        except HttpError as error:
            raise PiError(
                f"No gateway answers at {url}: {error.message}", hint="Run pi auth-gateway serve."
            ) from error
        if response.status != 200:
            raise PiError(f"The gateway at {url} answers with status {response.status}.")
        seen = response.json()
        ctx.write(f"The gateway at {url} is running.\n")
        for name, use in seen["models"].items():
            counts = f"{use['requests']} requests, {use['failed']} failed"
            tokens = f"{use['input']} tokens in, {use['output']} out, ${use['cost']:.4f}"
            ctx.write(one_line(f"{name}: {counts}, {tokens}") + "\n")
        for name, source in seen["credentials"].items():
            ctx.write(one_line(f"{name}: {source}") + "\n")

    async def _check(self, ctx: CommandContext) -> None:
        """Check that each provider has valid credentials; sends no request to a model."""
        providers = sorted({model.provider for model in self._pi.models.available()})
        failed = 0
        for name in providers:
            try:
                access = await self._pi.auth.access(name)
                state = "no credentials" if access is None else "ready"
                failed += access is None
            except PiError as error:
                state, failed = error.explain(), failed + 1
            source = self._pi.auth.source(name)
            ctx.write(one_line(f"{name}: {state}{f' ({source})' if source else ''}") + "\n")
        if not providers:
            ctx.write("No provider has credentials.\n")
        if not providers or failed == len(providers) or (failed and ctx.flags.get("strict")):
            ctx.exit(1)


def extension(pi: ExtensionAPI) -> None:
    """Register the command; nothing else happens until it is used."""
    pi.register_command(
        "auth-gateway",
        GatewayCommands(pi).run,
        description="models of pi for other programs",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
