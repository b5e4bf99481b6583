from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from pi.ai.factory import create_models
from pi.ai.models.catalog import DATA, bundled_models, bundled_providers
from pi.ai.providers.rows import BUILT_IN
from pi.ai.wires import WIRES
from scripts.workspace import ROOT


def test_every_bundled_model_is_complete_and_belongs_to_its_file() -> None:
    total = 0
    for provider in bundled_providers():
        models = bundled_models(provider)
        total += len(models)
        assert len({model.id for model in models}) == len(models)
        for model in models:
            assert model.provider == provider
            assert model.api in WIRES
            assert model.context_window > 0
            assert model.max_tokens > 0
            assert model.name

    assert (len(bundled_providers()), total) == (42, 1643)


def test_every_bundled_model_is_served_and_names_its_prices_and_its_address() -> None:
    models = create_models(environ={}, folder=Path("/nowhere"))
    for provider in bundled_providers():
        data = json.loads((DATA / f"{provider}.json").read_text(encoding="utf-8"))
        for entry, model in zip(data, bundled_models(provider), strict=True):
            assert {"input", "output", "cacheRead", "cacheWrite"} <= entry["cost"].keys()
            assert models.get_model(provider, model.id) == model
            assert model.base_url or provider == "azure"


def test_every_row_with_bundled_models_has_a_default_that_exists() -> None:
    rows = [row for row in BUILT_IN if bundled_models(row.catalog or row.id)]
    missing = [
        row.id
        for row in rows
        if row.default_model not in {model.id for model in bundled_models(row.catalog or row.id)}
    ]

    assert missing == []
    assert {row.catalog or row.id for row in rows} == set(bundled_providers())


def test_the_readme_counts_providers_and_models() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    bundled = sum(len(bundled_models(provider)) for provider in bundled_providers())

    assert f"{len(BUILT_IN)} providers" in readme
    assert f"{bundled:,} models in the catalog" in readme


def test_an_unknown_provider_has_no_models() -> None:
    assert bundled_models("unknown") == ()


def test_importing_the_layer_reads_no_catalog_and_loads_no_http_client() -> None:
    probe = (
        "import sys, pi.ai, pi.ai.collection, pi.ai.providers.rows\n"
        "from pi.ai.models.catalog import bundled_models\n"
        "assert bundled_models.cache_info().currsize == 0\n"
        "heavy = [name for name in sys.modules if name == 'httptools'"
        " or name.startswith(('pi.ai.http', 'pi.ai.wire.', 'pi.ai.auth'))]\n"
        "assert not heavy, heavy\n"
    )

    finished = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )

    assert finished.returncode == 0, finished.stderr
