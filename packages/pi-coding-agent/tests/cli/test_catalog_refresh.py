from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi.ai.factory import create_models
from pi.ai.models.updated_catalog import FILE, UpdatedCatalog
from pi.base.testing import FakeClock
from pi.cli.catalog_refresh import DELAY_SECONDS, refresh_catalog
from pi.coding.models.catalog_age import catalog_age
from pi.coding.runtime.machine import Machine
from pi.coding.settings.values import CatalogValues

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("refresh", "offline", "is_updated"),
    [(True, "0", True), (False, "0", False), (True, "1", False)],
)
async def test_one_setting_and_offline_switch_it_off(
    refresh: bool, offline: str, is_updated: bool, tmp_path: Path
) -> None:
    facts = {"providers": {"anthropic": {"claude-opus-5-5": {"contextWindow": 5}}}}
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    clock = FakeClock(now_ms=NOW)
    host = Machine(
        environ={"PI_OFFLINE": offline},
        home=tmp_path,
        agent_dir=tmp_path,
        temp_dir=tmp_path,
        clock=clock,
    )
    models = create_models(environ=host.environ, folder=tmp_path, clock=clock)
    values = CatalogValues(refresh=refresh, sources=(str(tmp_path / "facts.json"),))

    refreshing = asyncio.create_task(refresh_catalog(models, host, values))
    await clock.advance(DELAY_SECONDS)
    await refreshing
    await models.close()

    assert (tmp_path / FILE).exists() == is_updated


def test_the_age_is_a_date_or_the_time_since_the_update(tmp_path: Path) -> None:
    path = tmp_path / FILE
    catalog = UpdatedCatalog(path)
    texts = [catalog_age(None, NOW), catalog_age(catalog, NOW)[:8]]
    path.write_text(json.dumps({"sources": [{"name": "s", "checkedAt": NOW}]}))
    for passed in (-5, 59_999, 60_000, 3 * 3_600_000, 50 * 3_600_000):
        texts.append(catalog_age(catalog, NOW + passed))

    assert texts == [
        *("", "as of 20", "updated just now", "updated just now", "updated 1 minute ago"),
        *("updated 3 hours ago", "updated 2 days ago"),
    ]
