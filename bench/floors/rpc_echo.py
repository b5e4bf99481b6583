"""The least that can be an RPC server: every line is answered at once, and a prompt settles."""

import sys

for line in sys.stdin.buffer:
    settled = b'{"type":"agent_settled"}\n' if b'"prompt"' in line else b""
    sys.stdout.buffer.write(b'{"type":"response","success":true}\n' + settled)
    sys.stdout.buffer.flush()
