"""What the web costs: ``pages import``, ``pages inside`` or ``pages child``.

``import`` prints the CPU time of importing both batteries, in ms. The others convert a page of
about 80 KB: within this process, or as pi does it in a child process; they print wall time in ms.
"""

import asyncio
import sys
import time

from pi.documents.convert import ConversionOptions, convert_document

ROUNDS = 10
PART = (
    "<section><h2>Part</h2><p>Some <b>bold</b> words and <a href='/x'>a link</a>. "
    + "More words follow here. " * 10
    + "</p><pre><code class='language-py'>call(1)\ncall(2)</code></pre><ul><li>one<li>two</ul>"
    "<table><tr><th>A<th>B<tr><td>1<td>2</table></section>"
)
PAGE = f"<html><title>Page</title><body><main>{PART * 180}</main></body></html>".encode()


def importing() -> float:
    """CPU time of the imports."""
    begun = time.process_time()
    import pi.batteries.web_pages.adapter
    import pi.batteries.web_search.adapter  # noqa: F401

    return (time.process_time() - begun) * 1e3


def inside() -> float:
    """Conversion within this process."""
    from pi.documents.converter import convert_html

    options = {"url": "https://site.example/", "characters": 500_000}
    convert_html(PAGE, options)
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        convert_html(PAGE, options)
    return (time.perf_counter() - begun) / ROUNDS * 1e3


async def child() -> float:
    """Conversion in a child process."""
    options = ConversionOptions(kind="html", url="https://site.example/")
    environ = {"PATH": "/usr/bin:/bin"}
    await convert_document(PAGE, options, environ=environ)
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        await convert_document(PAGE, options, environ=environ)
    return (time.perf_counter() - begun) / ROUNDS * 1e3


if __name__ == "__main__":
    match sys.argv[1]:
        case "import":
            print(importing())
        case "inside":
            print(inside())
        case _:
            print(asyncio.run(child()))
