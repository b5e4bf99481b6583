"""``--mode rpc``: commands come in as lines of JSON, answers and events go out the same way."""
