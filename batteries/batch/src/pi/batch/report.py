"""The report of a batch: a table for the terminal, and a page with charts that works offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from math import ceil

from pi.base.terminal_text import sanitise
from pi.batch.results import BatchManifest, BatchResult, latest
from pi.batch.tasks import BatchTask

BINS = 20
NOT_RUN = "not run"
COLOURS = {
    "done": "#2e8b57",
    "failed": "#c0392b",
    "error": "#d35400",
    "timeout": "#b7950b",
    "turns": "#2874a6",
    "budget": "#8e44ad",
    "stopped": "#7f8c8d",
    NOT_RUN: "#bdc3c7",
}
"""Colours of the statuses. Each bar also shows status and number as text."""
COLUMNS = ("id", "status", "attempt", "seconds", "cost", "tokens", "error")


def report_table(tasks: Sequence[BatchTask], rows: Sequence[BatchResult]) -> str:
    """Return a table of all tasks and a line with the sums."""
    last = latest(rows)
    lines = [COLUMNS, *(_format_row(task, last.get(task.id)) for task in tasks)]
    lines = [tuple(_shorten(cell) for cell in line) for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([*table, "", _sum_up(tasks, rows), ""])


def _format_row(task: BatchTask, row: BatchResult | None) -> tuple[str, ...]:
    if row is None:
        return task.id, NOT_RUN, "", "", "", "", ""
    tokens = row.usage.input + row.usage.output + row.usage.cache_read + row.usage.cache_write
    return (
        row.id,
        row.status,
        str(row.attempt),
        f"{row.seconds:.1f}",
        f"{row.cost:.4f}",
        str(tokens),
        row.error or "",
    )


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _sum_up(tasks: Sequence[BatchTask], rows: Sequence[BatchResult]) -> str:
    counts = _count_statuses(tasks, rows)
    share = counts["done"] / len(tasks) if tasks else 0.0
    parts = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    cost, seconds = sum(row.cost for row in rows), sum(row.seconds for row in rows)
    return f"{len(tasks)} tasks: {parts} ({share:.0%} done). ${cost:.4f}, {seconds:.0f} s of work."


def _count_statuses(tasks: Sequence[BatchTask], rows: Sequence[BatchResult]) -> Counter[str]:
    last = latest(rows)
    counts = Counter(last[task.id].status if task.id in last else NOT_RUN for task in tasks)
    return Counter({status: counts[status] for status in COLOURS})  # in the order of the legend


def report_page(
    tasks: Sequence[BatchTask], rows: Sequence[BatchResult], manifest: BatchManifest
) -> str:
    """Return the whole page; everything that comes from tasks and models is escaped.

    Control sequences are removed, because a page is also shown with ``cat`` or ``less -R``.
    """
    by_id = latest(rows)
    last = list(by_id.values())
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(sanitise(cell))}</td>' for cell in cells)}</tr>"
        for cells in (_format_row(task, by_id.get(task.id)) for task in tasks)
    )
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    return _PAGE.format(
        sums=escape(_sum_up(tasks, rows)),
        about=escape(sanitise(f"pi {manifest.pi}, started {manifest.started}")),
        success=_draw_statuses(_count_statuses(tasks, rows), len(tasks)),
        cost=_draw_histogram([row.cost for row in last], "US dollars per task"),
        time=_draw_histogram([row.seconds for row in last], "seconds per task"),
        head=head,
        body=body,
    )


def _draw_statuses(counts: Counter[str], total: int) -> str:
    statuses = [(status, count) for status, count in counts.items() if count]
    bars = []
    for number, (status, count) in enumerate(statuses):
        width = 320 * count / total
        bars.append(
            f'<g transform="translate(0,{number * 32})"><text x="0" y="21">{status}</text>'
            f'<rect x="100" y="4" width="{width:.1f}" height="22" fill="{COLOURS[status]}"/>'
            f'<text x="{108 + width:.1f}" y="21">{count} ({count / total:.0%})</text></g>'
        )
    return _wrap_svg("Tasks by status", bars, height=32 * len(statuses))


def _draw_histogram(values: Sequence[float], unit: str) -> str:
    largest = max(values, default=0.0)
    counts = [0] * BINS
    for value in values:
        index = ceil(value / largest * BINS) - 1 if largest else 0
        counts[max(index, 0)] += 1
    highest = max(counts, default=0) or 1
    bars = [
        f'<rect x="{number * 24 + 8}" y="{120 - count / highest * 90:.1f}" width="22"'
        f' height="{count / highest * 90:.1f}" fill="#4a78b5"><title>{count} tasks up to'
        f" {(number + 1) * largest / BINS:.4g} {unit}</title></rect>"
        for number, count in enumerate(counts)
        if count
    ]
    axis = (
        '<line x1="8" y1="120" x2="488" y2="120" stroke="currentColor"/>'
        f'<text x="8" y="142">0</text><text x="248" y="142" text-anchor="middle">{unit}</text>'
        f'<text x="488" y="142" text-anchor="end">{largest:.4g}</text>'
        f'<text x="496" y="36">{highest}</text>'
    )
    return _wrap_svg(unit, [*bars, axis], height=150)


def _wrap_svg(title: str, parts: Sequence[str], *, height: int) -> str:
    return (
        f'<svg viewBox="0 0 560 {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>pi batch</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
  padding: 0 1rem; }}
svg {{ max-width: 35rem; width: 100%; font: 18px system-ui, sans-serif; fill: currentColor; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #8884;
  vertical-align: top; }}
td {{ overflow-wrap: anywhere; }}
.charts {{ display: flex; flex-wrap: wrap; gap: 2rem; }}
.charts section {{ flex: 1 1 20rem; }}
h2 {{ font-size: 1rem; }}
.about {{ opacity: .7; }}
</style></head><body>
<h1>Batch</h1>
<p>{sums}</p><p class="about">{about}</p>
<div class="charts">
<section><h2>Success</h2>{success}</section>
<section><h2>Cost</h2>{cost}</section>
<section><h2>Time</h2>{time}</section>
</div>
<h2>Tasks</h2>
<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>
</body></html>
"""
