"""Deterministic orchestration only: what happens next is decided in `turnwright.domain.turn`."""
