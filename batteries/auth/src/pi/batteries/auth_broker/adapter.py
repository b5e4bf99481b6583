"""Connects the broker to a session: ``pi auth-broker``, ``pi doctor``, settings, the source."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Any, Literal

import msgspec

from pi.ai.auth.credentials import ApiKeyCredential
from pi.base.locks import FileLock, FileLocked
from pi.base.server_guard import guard_for, is_loopback, make_token, port_number
from pi.batteries.auth_broker.client import BrokerClient
from pi.batteries.auth_broker.configuration import BrokerConfig, broker_config
from pi.batteries.auth_broker.protocol import (
    PORT,
    AccountUsage,
    SharedAccount,
    check_entry,
    shared,
)
from pi.batteries.auth_broker.source import BrokerSource
from pi.batteries.auth_broker.store import BrokerStore
from pi.coding.extension_host.contributions.commands import split_words
from pi.coding.extension_host.contributions.credentials import AuthUnavailable
from pi.extension import (
    CheckResult,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    ExtensionError,
    Json,
    OAuthCredential,
    PiError,
    install_hint,
    one_line,
)

WORDS = ("serve", "token", "login", "logout", "list", "import", "migrate", "status")
LOGGED_OUT = "logged out"
"""Reason of an account that a client logged out of. ``pi doctor`` does not report it as broken."""
USAGE = """\
Usage: pi auth-broker serve [--host ADDRESS] [--port N] [--no-auth]
pi auth-broker token [--rotate]
pi auth-broker login PROVIDER [--label NAME] [--with-key] [--via USER@HOST]
pi auth-broker logout PROVIDER|ID
pi auth-broker list
pi auth-broker import FILE|- [--label NAME]
pi auth-broker migrate --from-local
pi auth-broker status"""


class BrokerCommands:
    """Acts on the configured broker or, without one, on the store of this machine."""

    def __init__(
        self,
        pi: ExtensionAPI,
        folder: Path,
        config: BrokerConfig | None,
        error: PiError | None,
    ) -> None:
        self._pi = pi
        self._folder = folder
        self._store = BrokerStore(folder)
        self._client = None if config is None else BrokerClient(pi.http, config)
        self._problem = error
        self.source: BrokerSource | None = None

    async def run(self, arguments: str, ctx: CommandContext) -> None:
        """``pi auth-broker …``."""
        match split_words(arguments, usage=USAGE):
            case ["serve"]:
                await self._serve(ctx)
            case ["token"]:
                token = make_token(self._folder / "token", new=bool(ctx.flags.get("rotate")))
                ctx.write(f"{token}\n")
            case ["login", provider]:
                await self._login(provider, ctx)
            case ["logout", name]:
                await self._logout(name, ctx)
            case ["list"]:
                ctx.write(await self._listing())
            case ["import", path]:
                await self._import(path, ctx)
            case ["migrate"] if ctx.flags.get("from-local"):
                await self._migrate(ctx)
            case ["status"] | []:
                await self._status(ctx)
            case _:
                raise PiError("Unknown words after auth-broker.", hint=USAGE)

    # Serving --------------------------------------------------------------------------------------

    async def _serve(self, ctx: CommandContext) -> None:
        if ctx.has_ui:
            raise PiError("A broker runs in a terminal of its own.", hint="pi auth-broker serve")
        server_module = _server_module()
        from pi.batteries.auth_broker.refresher import Refresher

        host = str(ctx.flags.get("host") or "127.0.0.1")
        port = port_number(ctx.flags.get("port"), PORT)
        token = make_token(self._folder / "token")
        guard = guard_for(host, token, no_auth=bool(ctx.flags.get("no-auth")))
        self._pi.auth.hide(token)
        clock, report = self._pi.scope.clock, self._report
        refresher = Refresher(self._store, self._pi.auth.refreshed, clock, report)
        server = server_module.BrokerServer(self._store, refresher, guard, clock, report)
        try:
            # Two brokers on one store would use the same rotating refresh token twice.
            async with FileLock(self._folder / "serve.lock"), server.serving(host, port) as bound:
                bracketed = f"[{host}]" if ":" in host else host
                ctx.write(f"The auth broker listens on http://{bracketed}:{bound}\n")
                if not is_loopback(host):
                    self._report("The connection is not encrypted: use a tunnel or a TLS proxy.")
                await asyncio.Event().wait()
        except FileLocked as error:
            raise PiError("An auth broker already runs with these accounts.") from error

    def _report(self, text: str) -> None:
        line = self._pi.redact(one_line(text), "log")
        self._pi.log.warning("%s", line)
        self._pi.warn(line)

    # Accounts -------------------------------------------------------------------------------------

    async def _login(self, provider: str, ctx: CommandContext) -> None:
        via = str(ctx.flags.get("via") or "")
        if via.startswith("-") or any(character.isspace() for character in via):  # an option of ssh
            raise PiError(f"{via!r} is not user@host.")
        credential = await self._pi.auth.obtain(provider, with_key=bool(ctx.flags.get("with-key")))
        entry, label = _entry(credential), str(ctx.flags.get("label") or "")
        if via:
            await self._send(via, {provider: entry}, label)
            ctx.write(f"Sent the login to {provider} to {via}.\n")
            return
        account = await self._put(provider, entry, label)
        ctx.write(f"The broker has the account {account.label} of {provider} ({account.id}).\n")

    async def _send(self, via: str, entries: Json, label: str) -> None:
        """Send credentials to the broker's machine over ssh, as standard input of ``import``."""
        command = ["pi", "auth-broker", "import", "-"]
        command += ["--label", shlex.quote(label)] if label else []
        done = await self._pi.exec(
            ["ssh", "--", via, *command],
            stdin=msgspec.json.encode(entries),
            environment="command",
            timeout=120,
        )
        if done.code != 0:
            raise PiError(
                f"{via} did not take the login: {one_line(done.stderr)[-300:]}",
                hint="Check that ssh works without a password and that pi is installed there.",
            )

    async def _logout(self, name: str, ctx: CommandContext) -> None:
        matches = [
            account for account in await self._accounts() if name in (account.id, account.provider)
        ]
        if not matches:
            raise PiError(f"The broker has no account {name}.", hint="See pi auth-broker list.")
        if len(matches) > 1:
            ids = ", ".join(f"{account.id} ({account.label})" for account in matches)
            raise PiError(f"{name} has several accounts.", hint=f"Name one of {ids}.")
        (account,) = matches
        if self._client is None:
            await self._store.remove(account.id)
        else:
            await self._client.disable(account.id, LOGGED_OUT)
        ctx.write(f"Logged out of {account.provider} ({account.label}).\n")

    async def _import(self, path: str, ctx: CommandContext) -> None:
        data = await _input(path)
        try:
            entries = msgspec.json.decode(data, type=dict[str, dict[str, Any]])
        except msgspec.MsgspecError as error:
            raise PiError(f"{path} has not the form of auth.json: {error}.") from error
        for provider, entry in entries.items():
            account = await self._put(provider, entry, str(ctx.flags.get("label") or ""))
            ctx.write(f"Imported {account.label} of {provider} ({account.id}).\n")

    async def _migrate(self, ctx: CommandContext) -> None:
        """Move credentials, not copy them: two stores would use a rotating refresh token twice."""
        moved = 0
        for stored in await self._pi.auth.list():
            credential = await self._pi.auth.stored(stored.name)
            if credential is None:
                continue
            try:
                await self._put(stored.name, _entry(credential), "")
            except PiError as error:
                ctx.write(f"Left {stored.name} where it is: {one_line(error.message)}\n")
                continue
            await self._pi.auth.remove(stored.name)
            moved += 1
            ctx.write(f"Moved {stored.name}.\n")
        ctx.write(f"Moved {moved} credentials to the broker.\n")

    async def _put(self, provider: str, entry: Json, label: str) -> SharedAccount:
        if self._client is not None:
            return await self._client.add(provider, entry, label)
        try:
            check_entry(entry)
        except ValueError as error:
            raise PiError(f"The credential of {provider} cannot be shared: {error}.") from error
        return shared(await self._store.put(provider, entry, label))

    async def _accounts(self) -> tuple[SharedAccount, ...]:
        self._require_valid()
        if self._client is None:
            return tuple(shared(account) for account in self._store.read().accounts)
        snapshot = await self._client.snapshot()
        return () if snapshot is None else snapshot.accounts

    def _require_valid(self) -> None:
        if self._problem is not None:
            raise self._problem

    # Listings and checks --------------------------------------------------------------------------

    async def _listing(self) -> str:
        accounts = await self._accounts()
        if not accounts:
            return "The broker has no accounts. pi auth-broker login PROVIDER adds one.\n"
        now = self._pi.scope.clock.now_ms()
        return "".join(f"{_row(account, now)}\n" for account in accounts)

    async def _status(self, ctx: CommandContext) -> None:
        results = await self.doctor(ctx)
        for result in results:
            advice = f" {result.advice}" if result.advice else ""
            ctx.write(f"{one_line(result.text + advice)}\n")
        if results[0].level == "broken" and not ctx.has_ui:  # the broker itself cannot be used
            ctx.exit(1)

    async def doctor(self, ctx: ExtensionContext) -> list[CheckResult]:
        """The state of the broker and of its accounts, with remaining limits, for ``pi doctor``."""
        if self._problem is not None:
            return [_bad(self._problem)]
        if self._client is None:
            text = f"no broker is configured; {len(self._store.read().accounts)} accounts here"
            return [CheckResult(level="good", text=text)]
        try:
            snapshot = await self._client.snapshot()
            usage = {entry.id: entry for entry in await self._client.usage()}
        except PiError as error:
            return [_bad(error)]
        accounts = () if snapshot is None else snapshot.accounts
        now = self._pi.scope.clock.now_ms()
        rows = [CheckResult(level="good", text=f"{self._client.url}: {len(accounts)} accounts")]
        for account in accounts:
            remaining = _remaining(usage.get(account.id))
            level: Literal["broken", "note", "good"] = "broken" if account.disabled else "good"
            advice = f"Run pi auth-broker login {account.provider}." if account.disabled else ""
            if account.disabled == LOGGED_OUT:
                level, advice = "note", ""
            rows.append(
                CheckResult(level=level, text=_row(account, now) + remaining, advice=advice)
            )
        return rows


def _bad(error: PiError) -> CheckResult:
    return CheckResult(level="broken", text=error.message, advice=error.hint)


def _row(account: SharedAccount, now: int) -> str:
    kind = "login" if account.type == "oauth" else "key"
    if account.disabled:
        state = f"disabled: {account.disabled}"
    elif account.blocked_until > now:
        state = f"rests for {max((account.blocked_until - now) // 60_000, 1)} minutes"
    elif account.expires is not None:
        state = f"valid for {max((account.expires - now) // 60_000, 0)} minutes"
    else:
        state = "ready"
    return one_line(f"{account.id}  {account.provider}  {account.label}  {kind}, {state}")


def _remaining(usage: AccountUsage | None) -> str:
    if usage is None or not usage.limits:
        return ""
    parts = (f"{max(100 - limit.used_percent, 0):.0f}% of {limit.name}" for limit in usage.limits)
    return f", left: {', '.join(parts)}"


def _entry(credential: ApiKeyCredential | OAuthCredential) -> Json:
    if isinstance(credential, OAuthCredential):
        entry: Json = {
            "type": "oauth",
            "access": credential.access,
            "refresh": credential.refresh,
            "expires": credential.expires,
        }
    else:
        entry = {"type": "api_key", "key": credential.key}
        entry |= {"env": credential.env} if credential.env else {}
    return {**credential.extra, **entry}


async def _input(path: str) -> bytes:
    try:
        if path == "-":
            return await asyncio.to_thread(Path("/dev/stdin").read_bytes)
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise PiError(f"Cannot read {path}: {error.strerror}.") from error


def _server_module() -> Any:
    try:
        from pi.batteries.auth_broker import server
    except ModuleNotFoundError as error:
        raise PiError(f"The broker needs {error.name}.", hint=install_hint("broker")) from error
    return server


SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("auth.broker.url", str, "", "address of the auth broker; PI_AUTH_BROKER_URL comes first"),
    ("auth.broker.token", str, "", "token for it, or $NAME of a variable"),
)


async def extension(pi: ExtensionAPI) -> None:
    """Register the commands and, if a broker is configured, the source of credentials."""
    pi.settings.declare_all(SETTINGS)
    try:
        environ = pi.context.environ
    except ExtensionError:
        return  # a packed copy without manifests loads this before the project is known
    folder = pi.data_directory()
    config: BrokerConfig | None = None
    config_error: PiError | None = None
    try:
        # The settings of a project are ignored: they could send the token elsewhere.
        config = broker_config(
            environ, lambda key: pi.settings.get(key, with_project=False), folder
        )
    except PiError as error:
        config_error = error
        _refuse_all(pi, error)
    commands = BrokerCommands(pi, folder, config, config_error)
    pi.register_command(
        "auth-broker",
        commands.run,
        description="logins of several machines in one place",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
    pi.add_doctor_check("auth broker", commands.doctor)
    if config is not None:
        source = BrokerSource(pi, config, BrokerClient(pi.http, config))
        await source.open()
        if source.problem is not None and source.snapshot is None:
            pi.warn(source.problem.explain())
        commands.source = source


def _refuse_all(pi: ExtensionAPI, error: PiError) -> None:
    """Refuse requests if the configured broker cannot be used: no other key replaces it."""
    pi.warn(error.explain())

    def find(name: str) -> None:
        if ":" not in name:  # credentials of MCP servers and other services are not the broker's
            # The warning has the reason, and print mode shows both.
            raise AuthUnavailable(
                "No request is sent: the auth broker cannot be used. `pi doctor` says why.",
                hint=error.explain(),
            )

    pi.auth.add_source(find, at="first")
