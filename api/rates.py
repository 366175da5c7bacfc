"""The rate limit: a token bucket for each key, in this process."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class _Bucket:
    tokens: float
    filled_at: float


class Rates:
    """At most `per_minute` requests a minute for each key; None is no limit."""

    def __init__(
        self, per_minute: int | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str | None, _Bucket] = {}

    def take(self, key_id: str | None) -> int:
        """0 if the request may go on; otherwise the seconds to wait."""
        if self._per_minute is None:
            return 0
        now, rate = self._clock(), self._per_minute / 60
        # Keys are only ever those that exist, so there are few buckets.
        bucket = self._buckets.setdefault(key_id, _Bucket(self._per_minute, now))
        grown = bucket.tokens + (now - bucket.filled_at) * rate
        bucket.tokens, bucket.filled_at = min(self._per_minute, grown), now
        if bucket.tokens < 1:
            return math.ceil((1 - bucket.tokens) / rate)
        bucket.tokens -= 1
        return 0
