"""Write the bundled catalog: ``python -m scripts.catalog.generate [--facts FILE] [--check]``.

Without ``--facts`` the public lists are fetched. Only providers that a source lists are written;
the files of the others stay as they are. The image models and classifiers of a facts file are
written to files of their own; no program uses the classifiers. ``--check`` writes nothing and fails
when the files differ from what would be written. ``--overrides-from FILE`` rewrites overrides.json
from a facts file that already has every quirk.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.request import HttpRequest
from pi.ai.images.catalog import OPENROUTER
from pi.ai.json_text import json_text
from pi.ai.messages import Json
from pi.ai.models.catalog import DATA, MADE_AT
from pi.ai.models.public_lists import Facts, Listing, from_facts
from pi.base.formats import BadFormat, parse_jsonc
from scripts.catalog.overrides import catalog_entries, image_entries, quirks_of
from scripts.catalog.sources import SOURCES, Sources

OVERRIDES = Path(__file__).parent / "overrides.json"
CLASSIFIERS = Path(__file__).parent / "classifiers.json"


def main(arguments: list[str] | None = None) -> int:
    """Generate, or check; 0 when all went well."""
    parser = argparse.ArgumentParser(prog="generate", description=__doc__)
    parser.add_argument("--facts", type=Path)
    parser.add_argument("--overrides-from", type=Path)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--images", type=Path, default=OPENROUTER)
    parser.add_argument("--classifiers", type=Path, default=CLASSIFIERS)
    parser.add_argument("--date", help="of the facts, YYYY-MM-DD; by default theirs, or today")
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.overrides_from is not None:
        OVERRIDES.write_text(
            render_overrides(quirks_of(from_facts(read_json(chosen.overrides_from)))),
            encoding="utf-8",
        )
    try:
        facts = read_json(chosen.facts) if chosen.facts else None
        listing = asyncio.run(fetch()) if facts is None else from_facts(facts)
        files = {
            chosen.out / f"{provider}.json": render(entries)
            for provider, entries in catalog_entries(listing, read_json(OVERRIDES)).items()
        }
        files[chosen.out / MADE_AT] = f"{chosen.date or date_of(facts)}\n".encode()
        if facts is not None:
            files |= other_files(facts, images=chosen.images, classifiers=chosen.classifiers)
    except (HttpError, OSError, ValueError) as error:
        print(f"generate: {error}", file=sys.stderr)
        return 1
    return check(files) if chosen.check else write(files)


def date_of(facts: Any) -> str:
    """The date in the description of a facts file, or today."""
    about = facts.get("about", "") if isinstance(facts, dict) else ""
    match = re.search(r"\d{4}-\d{2}-\d{2}", about)
    return match[0] if match else datetime.now(UTC).date().isoformat()


def other_files(facts: Any, *, images: Path, classifiers: Path) -> dict[Path, bytes]:
    """The image models of OpenRouter, and all classifiers, as far as ``facts`` has them."""
    files = {}
    if listed := facts.get("images", {}).get("openrouter"):
        files[images] = render(image_entries("openrouter", listed))
    if "classifiers" in facts:
        files[classifiers] = render(
            [
                {"provider": provider, **models[name]}
                for provider, models in sorted(facts["classifiers"].items())
                for name in sorted(models)
            ]
        )
    return files


async def fetch(sources: Sources = SOURCES) -> Listing:
    """The facts of the public lists now; if two list a provider, the later list is used."""
    listing: Listing = {}
    async with HttpClient(environ=os.environ) as http:
        for name, (url, understand) in sources.items():
            response = await http.request(HttpRequest(url=url, redirects=3))
            if response.status != 200:
                raise ValueError(f"{name}: {url} answered with status {response.status}")
            listing |= understand(response.json())
    return listing


def render(entries: list[Facts]) -> bytes:
    """One line per model, so that a change of one model is a change of one line."""
    return b"[\n" + b",\n".join(map(msgspec.json.encode, entries)) + b"\n]\n"


def render_overrides(overrides: dict[str, Json]) -> str:
    """One line per model here too: the file is kept by hand."""
    providers = []
    for provider, override in overrides.items():
        models = ",\n".join(
            f"  {json_text(name)}: {json_text(change)}"
            for name, change in override["models"].items()
        )
        models = f"\n{models}\n " if models else ""
        providers.append(
            f' {json_text(provider)}: {{\n  "default": {json_text(override["default"])},\n'
            f'  "models": {{{models}}}\n }}'
        )
    return "{\n" + ",\n".join(providers) + "\n}\n"


def write(files: dict[Path, bytes]) -> int:
    """Write the files and print how many there are."""
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    models = sum(
        content.count(b"\n") - 2 for path, content in files.items() if path.suffix == ".json"
    )
    print(f"{len(files)} files, {models} models")
    return 0


def check(files: dict[Path, bytes]) -> int:
    """Name the files that are not what would be written."""
    stale = [
        path
        for path, content in files.items()
        if not path.is_file() or path.read_bytes() != content
    ]
    for path in stale:
        print(f"generate: {path} is not up to date", file=sys.stderr)
    return 1 if stale else 0


def read_json(path: Path) -> Any:
    """The JSON in ``path``; raises ``ValueError`` with the path if it is invalid."""
    try:
        return parse_jsonc(path.read_text(encoding="utf-8"))
    except BadFormat as error:
        raise ValueError(f"{path} {error}") from error


if __name__ == "__main__":
    sys.exit(main())
