from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time

import pytest

from bench.mock_process import ROOT, MockProcess
from tests.bench.conversation import call

REQUEST = {"model": "echo-2", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
CHAT = "/v1/chat/completions"


def test_the_log_records_the_times_of_request_and_response(server: MockProcess) -> None:
    before = time.monotonic_ns()
    call(server.port, "POST", CHAT, REQUEST)

    (exchange,) = server.log()

    assert (exchange.method, exchange.path, exchange.status) == ("POST", CHAT, 200)
    assert json.loads(exchange.body) == REQUEST
    assert exchange.received_bytes == len(json.dumps(REQUEST))
    assert exchange.sent_bytes > 500
    assert exchange.first_byte_ns
    assert exchange.last_byte_ns
    times = [
        before,
        exchange.headers_ns,
        exchange.body_ns,
        exchange.first_byte_ns,
        exchange.last_byte_ns,
    ]
    assert times == sorted(times)


def test_a_reset_empties_the_log(server: MockProcess) -> None:
    call(server.port, "POST", CHAT, REQUEST)

    server.reset()

    assert server.log() == []


def test_a_rate_spreads_the_deltas_over_time(server: MockProcess) -> None:
    call(server.port, "POST", CHAT, REQUEST | {"model": "echo-11@100"})

    (exchange,) = server.log()

    assert exchange.first_byte_ns
    assert exchange.last_byte_ns
    assert 0.1 <= (exchange.last_byte_ns - exchange.first_byte_ns) / 1e9 < 2


def test_requests_on_one_connection_are_answered_in_turn(server: MockProcess) -> None:
    body = json.dumps(REQUEST)
    head = f"POST {CHAT} HTTP/1.1\r\nhost: mock\r\ncontent-length: {len(body)}\r\n"
    first, last = f"{head}\r\n{body}", f"{head}connection: close\r\n\r\n{body}"

    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall((first + last).encode())
        answers = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert answers.count(b"[DONE]") == 2


def test_a_response_to_a_disconnected_client_is_logged_without_an_end(server: MockProcess) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", CHAT, json.dumps(REQUEST | {"model": "echo-200000"}))
    connection.getresponse().close()
    connection.close()

    assert call(server.port, "POST", CHAT, REQUEST).status == 200
    assert [exchange.last_byte_ns is None for exchange in server.log()] == [True, False]


def test_a_connection_remains_usable_after_an_invalid_request(server: MockProcess) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    statuses = []
    for body in ("{not json", json.dumps(REQUEST)):
        connection.request("POST", CHAT, body)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()

    assert statuses == [400, 200]
    assert [exchange.status for exchange in server.log()] == [400, 200]


def test_input_that_is_not_http_is_rejected(server: MockProcess) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"hello\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


@pytest.mark.parametrize("way", ["by its input", "by a request"])
def test_the_process_ends_on_request_or_end_of_input(way: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bench.mock_server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        port = int(process.stdout.readline())
        if way == "by its input":
            process.stdin.close()
        else:
            MockProcess(port).stop()

        assert process.wait(10) == 0
