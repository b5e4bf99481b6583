"""The answers of the mock server, per protocol: pure functions from a question to bytes."""
