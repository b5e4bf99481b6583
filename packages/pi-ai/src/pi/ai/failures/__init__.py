"""Turn failures of a provider into typed errors."""
