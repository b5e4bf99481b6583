"""Runs a batch on a Ray cluster of two nodes and kills one of them; run by ``test_ray_engine``.

A program of its own: Ray is in the environment of the oracles only. Prints a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from ray.cluster_utils import Cluster

from pi.sdk import BatchOptions, run_batch


async def main(count: int, out: Path, model: str, kill_at: int, budget: float | None) -> None:
    # Its address is not that of the loopback interface: the nodes authenticate each other.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second: Any = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    began, cpu = time.monotonic(), time.process_time()
    killed, found = False, []
    tasks = [{"id": f"t{number}", "prompt": "say x"} for number in range(count)]
    results = run_batch(
        tasks,
        output=out,
        batch=BatchOptions(ray=cluster.address, workers=2, retries=9, budget=budget),
        model="faux/faux",
        additional_extension_paths=[model],
    )
    async for result in results:
        found.append(result)
        if not killed and len(found) == kill_at:
            killed = True
            await asyncio.to_thread(cluster.remove_node, second, allow_graceful=False)
    seconds = time.monotonic() - began
    cluster.shutdown()
    sys.stdout.write(
        json.dumps(
            {
                "statuses": Counter(each.status for each in found),
                "done": len({each.id for each in found if each.status == "done"}),
                "errors": sorted({each.error for each in found if each.error}),
                "unique": len({(each.id, each.attempt) for each in found}) == len(found),
                "spent": sum(each.cost for each in found),
                "seconds": round(seconds, 2),
                "driver_cpu": round(time.process_time() - cpu, 2),
                "driver_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


if __name__ == "__main__":
    limit = float(sys.argv[5]) if len(sys.argv) > 5 else None
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), limit))
