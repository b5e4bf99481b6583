from __future__ import annotations

from pathlib import Path

from pi.base.records import replace
from pi.cli.session_setup import verbose_report
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from pi.version import __version__


async def test_the_verbose_report_names_the_source_of_every_resource(tmp_path: Path) -> None:
    cwd = tmp_path / "work"
    (cwd / ".pi" / "prompts").mkdir(parents=True)
    (cwd / ".pi" / "prompts" / "review.md").write_text("Review it.")
    (cwd / "AGENTS.md").write_text("Be brief.")
    (cwd / ".env").write_text("GROQ_API_KEY=k")
    host = replace(Machine.from_environ({"HOME": str(tmp_path)}), import_path=())
    built = await assemble(cwd, host, SessionOptions(model="demo/tour", approve=True))

    reported = list(verbose_report(built))
    await built.session.close()

    assert reported == [
        f"pi {__version__}",
        f"folder: {cwd} (trusted: flag)",
        "model: demo/tour, thinking off",
        f"session: {built.session.entries.log.file}",
        f"instructions: {cwd}/AGENTS.md",
        "prompt templates: review",
        "variables from .env files: GROQ_API_KEY",
    ]
