"""A language server for tests. Every word BAD is an error; words in a text make it misbehave.

The first argument is how diagnostics are sent: ``pull``, ``register`` (pull, registered later),
``push`` (with versions) or ``plain`` (without). CRASH ends it, HANG makes it silent for ever, GROW
makes it allocate memory, ``WAIT=path`` lets it answer when the file exists, ``INDEX=path`` reports
progress until then (with LOST it ends there), ``STALE`` makes it send the diagnostics of the text
before first. ``SLOWLY`` reports progress for half a second, and references cover one word until
then.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

Json = dict[str, Any]
texts: dict[str, tuple[int, str]] = {}
root = Path()
ballast: list[bytes] = []
next_id = 1000
writing = threading.Lock()
indexed = threading.Event()


def send(message: Json) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with writing:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()


def receive() -> Json | None:
    size = 0
    while (line := sys.stdin.buffer.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    return json.loads(sys.stdin.buffer.read(size)) if size else None


def request(method: str, params: Json) -> None:
    global next_id
    next_id += 1
    send({"id": next_id, "method": method, "params": params})


def words(text: str, word: str) -> list[Json]:
    found = []
    for number, line in enumerate(text.split("\n")):
        for match in re.finditer(rf"\b{word}\b", line):
            start, end = ({"line": number, "character": at} for at in match.span())
            found.append({"start": start, "end": end})
    return found


def problems(text: str) -> list[Json]:
    others = sum("BAD" in other.read_text() for other in root.glob("*.part"))
    found = [
        {"range": range, "message": "bad word", "severity": 1, "code": "B1", "source": "demo"}
        for range in words(text, "BAD")
    ]
    start = {"line": 0, "character": 0}
    return found + [
        {"range": {"start": start, "end": start}, "message": "bad part", "severity": 2}
    ] * min(others, 1)


def misbehave(text: str) -> None:
    if "CRASH" in text:
        sys.stderr.write("out of luck\n")
        sys.exit(3)
    while "HANG" in text:
        time.sleep(60)
    if "GROW" in text:
        ballast.append(b"x" * 80_000_000)
    if index := re.search(r"INDEX=(\S+)", text):
        request("window/workDoneProgress/create", {"token": "index"})
        progress(kind="begin", title="Indexing", percentage=0)
        progress(kind="report", message="3 of 7", percentage=40)
        while not Path(index[1]).exists():
            time.sleep(0.01)
        if "LOST" in text:  # it ends in the middle of its work
            sys.exit(3)
        progress(kind="end")
    if "SLOWLY" in text:
        threading.Thread(target=index_slowly, daemon=True).start()
    if wait := re.search(r"WAIT=(\S+)", text):
        while not Path(wait[1]).exists():
            time.sleep(0.01)


def index_slowly() -> None:
    progress(kind="begin", title="Indexing", percentage=0)
    time.sleep(0.5)
    indexed.set()
    progress(kind="end")


def progress(**value: Any) -> None:
    send({"method": "$/progress", "params": {"token": "index", "value": value}})


def changed(uri: str, version: int, text: str, how: str) -> None:
    before = texts.get(uri, (0, ""))
    texts[uri] = version, text
    misbehave(text)
    if how not in ("push", "plain"):
        return
    if "STALE" in text:
        publish(uri, before[0], before[1], how)
    publish(uri, version, text, how)


def publish(uri: str, version: int, text: str, how: str) -> None:
    params: Json = {"uri": uri, "diagnostics": problems(text)}
    if how == "push":
        params["version"] = version
    send({"method": "textDocument/publishDiagnostics", "params": params})


def path_of(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def capabilities(how: str) -> Json:
    known: Json = {
        "textDocumentSync": {"openClose": True, "change": 1, "save": {"includeText": True}},
        "documentFormattingProvider": True,
        "hoverProvider": True,
        "definitionProvider": True,
        "referencesProvider": True,
        "documentSymbolProvider": True,
        "workspaceSymbolProvider": True,
        "renameProvider": True,
        "codeActionProvider": True,
        "workspace": {"fileOperations": {"willRename": {"filters": []}}},
    }
    if how == "pull":
        known["diagnosticProvider"] = {"interFileDependencies": True}
    return known


def renamed(word: str, new: str) -> Json:
    changes = {}
    for path in sorted(root.glob("*.demo")):
        text = path.read_text()
        if found := words(text, word):
            changes[path.as_uri()] = [{"range": range, "newText": new} for range in found]
    return {"changes": changes}


def word_at(params: Json) -> str:
    _, text = texts[params["textDocument"]["uri"]]
    line = text.split("\n")[params["position"]["line"]]
    at = params["position"]["character"]
    return next(m[0] for m in re.finditer(r"\w+", line) if m.start() <= at <= m.end())


def answer(method: str, params: Json) -> Any:  # noqa: C901, PLR0911 - a case for each method
    document = params.get("textDocument", {}).get("uri", "")
    text = texts.get(document, (0, ""))[1]
    match method:
        case "textDocument/diagnostic":
            return {"kind": "full", "items": problems(text)}
        case "textDocument/formatting":
            clean = "\n".join(line.rstrip() for line in text.split("\n"))
            end = {"line": text.count("\n") + 1, "character": 0}
            whole = {"start": {"line": 0, "character": 0}, "end": end}
            return [{"range": whole, "newText": clean}] if clean != text else []
        case "textDocument/hover":
            return {"contents": {"kind": "markdown", "value": f"the word {word_at(params)}"}}
        case "textDocument/definition" | "textDocument/references":
            covered = None if indexed.is_set() or "SLOWLY" not in text else 1
            found = words(text, word_at(params))[:covered]
            return [{"uri": document, "range": range} for range in found]
        case "textDocument/documentSymbol":
            return [
                {"name": "good", "kind": 13, "range": r, "selectionRange": r}
                for r in words(text, "good")
            ]
        case "workspace/symbol":
            return [
                {"name": "good", "kind": 13, "location": {"uri": uri, "range": r}}
                for uri, (_, each) in texts.items()
                for r in words(each, "good")
            ]
        case "textDocument/rename":
            return renamed(word_at(params), params["newName"])
        case "workspace/willRenameFiles":
            [move] = params["files"]
            return renamed(path_of(move["oldUri"]).stem, path_of(move["newUri"]).stem)
        case "textDocument/codeAction":
            edits = [
                {"range": each["range"], "newText": "good"}
                for each in params["context"]["diagnostics"]
            ]
            command = {"command": "mend", "title": "Mend", "arguments": [document]}
            return [
                {
                    "title": "Replace BAD",
                    "kind": "quickfix",
                    "edit": {"changes": {document: edits}},
                },
                {"title": "Mend by command", "command": command},
            ]
        case "workspace/executeCommand":
            uri = params["arguments"][0]
            edits = [{"range": r, "newText": "mended"} for r in words(texts[uri][1], "BAD")]
            target = "file:///outside.demo" if "OUTSIDE" in texts[uri][1] else uri
            request("workspace/applyEdit", {"edit": {"changes": {target: edits}}})
            return None
        case "demo/echo":
            return params
        case _:
            return None


def main() -> None:  # noqa: C901 - a case for each message
    global root
    how = sys.argv[1]
    if how == "broken":
        sys.stderr.write("demo: cannot load its library\n")
        sys.exit(4)
    while (message := receive()) is not None:
        method, params = message.get("method", ""), message.get("params") or {}
        if method == "initialize":
            if how == "mute":
                continue
            root = path_of(params["rootUri"])
            send({"id": message["id"], "result": {"capabilities": capabilities(how)}})
        elif method == "initialized" and how == "register":
            row = {"id": "d", "method": "textDocument/diagnostic", "registerOptions": {}}
            request("client/registerCapability", {"registrations": [row]})
        elif method == "textDocument/didOpen":
            item = params["textDocument"]
            changed(item["uri"], item["version"], item["text"], how)
        elif method == "textDocument/didChange":
            item = params["textDocument"]
            changed(item["uri"], item["version"], params["contentChanges"][0]["text"], how)
        elif method == "textDocument/didClose":
            texts.pop(params["textDocument"]["uri"], None)
        elif method == "exit":
            return
        elif "id" in message and method:
            send({"id": message["id"], "result": answer(method, params)})


if __name__ == "__main__":
    main()
