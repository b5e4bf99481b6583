"""``pi doctor``: what is set up, what is missing, and what to do about it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from pi.cli.arguments import Arguments
from pi.cli.examination import Finding, Level, examine
from pi.cli.standard_streams import complain
from pi.coding.export.redaction import Redactor
from pi.coding.runtime.host import Host
from pi.coding.runtime.secrets import KnownSecrets

SIGNS: dict[Level, str] = {"good": "✓", "note": "·", "missing": "○", "broken": "✗"}


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Print what was found; 1 if something is broken, 0 also if something is missing."""
    host = Host.of(environ, report=complain)
    findings = asyncio.run(examine(host, Path.cwd()))
    # A problem of a file is told in the words of that file, and these may be a key.
    redactor = Redactor(KnownSecrets.of(host).values())
    sys.stdout.writelines(map(redactor.text, _lines(findings)))
    return 1 if any(finding.level == "broken" for finding in findings) else 0


def _lines(findings: list[Finding]) -> list[str]:
    width = max(len(finding.topic) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{SIGNS[finding.level]} {finding.topic:{width}}  {finding.text}\n")
        if finding.advice:
            lines.append(f"  {'':{width}}  → {finding.advice}\n")
    return lines
