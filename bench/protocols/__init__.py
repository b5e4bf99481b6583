"""What the mock server says, per protocol: pure functions from a question to bytes."""
