"""Whether the process is alive, whether it is ready, and what it has counted. Outside `/v1`."""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from api.dependencies import Parts
from api.errors import problem
from api.openapi import problems
from turnwright.readiness import failures

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """All is well."""

    status: str = "ok"


@router.get("/healthz")
async def healthz() -> Health:
    """Say that the process is alive."""
    return Health()


@router.get("/readyz", response_model=Health, responses=problems(503))
async def readyz(parts: Parts) -> Response:
    """Say whether database, Temporal and a worker are there, or what fails."""
    failing = await failures(parts.database, parts.executions)
    if failing:
        detail = "; ".join(f"{name}: {why}" for name, why in failing.items())
        return problem("UNAVAILABLE", detail, failing=sorted(failing))
    return Response(Health().model_dump_json(), media_type="application/json")


@router.get("/metrics", response_class=Response)
async def metrics(parts: Parts) -> Response:
    """Give what was counted, in Prometheus's text format."""
    return Response(generate_latest(parts.registry), media_type=CONTENT_TYPE_LATEST)
