"""The HTTP API: parse, call one function, answer. CONTRACT.md says what callers rely on."""
