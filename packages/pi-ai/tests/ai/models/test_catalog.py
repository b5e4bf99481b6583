from __future__ import annotations

import subprocess
import sys

from pi.ai.models.catalog import bundled_models, bundled_providers
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

    assert (len(bundled_providers()), total) == (40, 1465)


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
