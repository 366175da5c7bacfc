"""What the API counts, for Prometheus."""

from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Metrics:
    """The series of one API process, in a registry of its own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "turnwright_http_requests",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "turnwright_http_request_seconds",
            "Seconds until a request was answered; streams are not among them.",
            ("method", "route"),
            registry=registry,
        )
        self.streams = Gauge(
            "turnwright_open_streams", "Event streams that are open.", registry=registry
        )


class Measured:
    """Counts and times every request by its route."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, streaming = perf_counter(), "none", False

        async def noting(message: Message) -> None:
            nonlocal status, streaming
            if message["type"] == "http.response.start":
                status = str(message["status"])
                streaming = is_stream(message)
                if streaming:
                    self._metrics.streams.inc()
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            # The router leaves the route in the scope; its template keeps ids out of the labels.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if route != "none" else "none"
            self._metrics.requests.labels(method, route, status).inc()
            if streaming:
                self._metrics.streams.dec()
            else:
                self._metrics.seconds.labels(method, route).observe(perf_counter() - started)


def is_stream(start: Message) -> bool:
    """Whether this `http.response.start` begins an event stream."""
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/event-stream")
