"""The app, put together from its parts. Composition roots make the parts and serve the app."""

from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI

from api import (
    agents,
    control,
    errors,
    events,
    health,
    messages,
    openapi,
    operating,
    queue,
    runs,
    sessions,
    stream,
    watch,
)
from api.metrics import Measured, Metrics
from api.middleware import BodyLimit, Boundary
from api.parts import ApiParts
from api.rates import Rates

__all__ = ["ApiParts", "create_app"]


def create_app(parts: ApiParts) -> FastAPI:
    """The HTTP API of CONTRACT.md on these parts."""
    app = FastAPI(
        title="Turnwright",
        version=_version(),
        # Their pages load scripts from elsewhere; the description itself is served.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.parts = parts
    app.state.rates = Rates(parts.settings.rate_limit)
    errors.install(app)
    turns = (sessions, messages, queue, control, operating, runs)
    for module in (*turns, events, stream, watch, agents, health):
        app.include_router(module.router)
    app.openapi = lambda: openapi.describe(app)  # type: ignore[method-assign]
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, limit=parts.settings.max_body_bytes)
    app.add_middleware(Boundary)
    app.add_middleware(Measured, metrics=Metrics(parts.registry))
    return app


def _version() -> str:
    try:
        return version("turnwright")
    except PackageNotFoundError:
        return "0"
