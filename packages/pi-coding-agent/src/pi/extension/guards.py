"""The public API of extensions that check what commands, requests and children would do.

    from pi.extension.guards import parse_command

    line = parse_command("git status && rm -r build")
    assert [part.name for part in line.parts] == ["git", "rm"]

Names are imported lazily from the modules that define them.
"""
# ruff: isort: skip_file

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from pi.agent.tools.names import mcp_key as mcp_key, tool_matches as tool_matches
    from pi.ai.http.addresses import (
        AddressPolicy as AddressPolicy,
        AddressRefused as AddressRefused,
    )
    from pi.base.credential_files import credential_paths as credential_paths
    from pi.base.processes.git import (
        GIT_PROGRAMS_QUERY as GIT_PROGRAMS_QUERY,
        git_command as git_command,
        git_programs as git_programs,
        remote_programs as remote_programs,
    )
    from pi.base.processes.sandbox import (
        SandboxPolicy as SandboxPolicy,
        SandboxProxy as SandboxProxy,
        SandboxSupport as SandboxSupport,
        SandboxUnavailable as SandboxUnavailable,
        SandboxedCommand as SandboxedCommand,
        find_sandbox as find_sandbox,
        project_policy as project_policy,
        sandboxed as sandboxed,
    )
    from pi.base.protected_files import (
        starts_by_scripts as starts_by_scripts,
        starts_something as starts_something,
    )
    from pi.coding.extension_host.filtering_proxy import FilteringProxy as FilteringProxy
    from pi.coding.resources.ignore import compile_glob as compile_glob
    from pi.coding.shell.command_line.parts import (
        CommandLine as CommandLine,
        CommandPart as CommandPart,
        CommandWord as CommandWord,
        Redirection as Redirection,
    )
    from pi.coding.shell.command_line.reading import change_reason as change_reason
    from pi.coding.shell.command_line.resolve import parse_command as parse_command
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "pi.agent.tools.names": (
                "mcp_key",
                "tool_matches",
            ),
            "pi.ai.http.addresses": (
                "AddressPolicy",
                "AddressRefused",
            ),
            "pi.base.credential_files": ("credential_paths",),
            "pi.base.processes.git": (
                "GIT_PROGRAMS_QUERY",
                "git_command",
                "git_programs",
                "remote_programs",
            ),
            "pi.base.processes.sandbox": (
                "SandboxPolicy",
                "SandboxProxy",
                "SandboxSupport",
                "SandboxUnavailable",
                "SandboxedCommand",
                "find_sandbox",
                "project_policy",
                "sandboxed",
            ),
            "pi.base.protected_files": (
                "starts_by_scripts",
                "starts_something",
            ),
            "pi.coding.extension_host.filtering_proxy": ("FilteringProxy",),
            "pi.coding.resources.ignore": ("compile_glob",),
            "pi.coding.shell.command_line.parts": (
                "CommandLine",
                "CommandPart",
                "CommandWord",
                "Redirection",
            ),
            "pi.coding.shell.command_line.reading": ("change_reason",),
            "pi.coding.shell.command_line.resolve": ("parse_command",),
        },
    )
