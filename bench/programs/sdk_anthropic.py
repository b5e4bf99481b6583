"""Ask with Anthropic's SDK: ``sdk_anthropic.py URL API MODEL…``.

With the blocking client: it costs a few percent less CPU than the asynchronous one.
"""

import sys
import time

from anthropic import Anthropic


def main(url: str, api: str, *models: str) -> None:
    """Ask each model in turn and print the lines that ``bench.programs`` describes."""
    with Anthropic(api_key="KEY", base_url=url) as client:
        for model in models:
            words: list[str] = []
            began, first = time.process_time(), 0.0
            for event in client.messages.create(
                model=model,
                max_tokens=4096,
                messages=[{"role": "user", "content": "Say hello"}],
                stream=True,
            ):
                if event.type == "content_block_delta" and event.delta.type == "text_delta":
                    if not words:
                        first = time.process_time()
                    words.append(event.delta.text)
            print(len("".join(words)), first * 1e3, (time.process_time() - began) * 1e3)


main(*sys.argv[1:])
