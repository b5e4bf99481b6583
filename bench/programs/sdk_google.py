"""Ask with Google's SDK: ``sdk_google.py URL API MODEL…``; the URL ends with the API's version."""

import sys
import time

from google.genai import Client
from google.genai.types import HttpOptions


def main(url: str, api: str, *models: str) -> None:
    """Ask each model in turn and print the lines that ``bench.programs`` describes."""
    base_url, _, version = url.rpartition("/")
    options = HttpOptions(base_url=base_url, api_version=version)
    with Client(api_key="KEY", http_options=options) as client:
        for model in models:
            words: list[str] = []
            began, first = time.process_time(), 0.0
            for chunk in client.models.generate_content_stream(model=model, contents="Say hello"):
                if text := chunk.text:
                    if not words:
                        first = time.process_time()
                    words.append(text)
            print(len("".join(words)), first * 1e3, (time.process_time() - began) * 1e3)


main(*sys.argv[1:])
