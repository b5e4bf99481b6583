"""Ask with OpenAI's SDK: ``sdk_openai.py URL API MODEL…``.

With the blocking client: it costs a few percent less CPU than the asynchronous one.
"""

import sys
import time
from collections.abc import Iterator

from openai import OpenAI


def chat(client: OpenAI, model: str) -> Iterator[str]:
    """The text deltas of a chat completion."""
    for chunk in client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "Say hello"}],
        stream=True,
        stream_options={"include_usage": True},
    ):
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


def responses(client: OpenAI, model: str) -> Iterator[str]:
    """The text deltas of a response."""
    for event in client.responses.create(model=model, input="Say hello", stream=True):
        if event.type == "response.output_text.delta":
            yield event.delta


APIS = {"openai-completions": chat, "openai-responses": responses}


def main(url: str, api: str, *models: str) -> None:
    """Ask each model in turn and print the lines that ``bench.programs`` describes."""
    with OpenAI(api_key="KEY", base_url=url) as client:
        for model in models:
            words: list[str] = []
            began, first = time.process_time(), 0.0
            for delta in APIS[api](client, model):
                if not words:
                    first = time.process_time()
                words.append(delta)
            print(len("".join(words)), first * 1e3, (time.process_time() - began) * 1e3)


main(*sys.argv[1:])
