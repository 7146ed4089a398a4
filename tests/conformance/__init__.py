"""Conformance: where a subscription answers this project's requests otherwise than the embedded Azure does."""
