"""The description at `/openapi.json`: what FastAPI derives, and what only we know."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from api.errors import MEDIA_TYPE, PROBLEMS
from api.schemas import Problem

SCHEME: Final = "ApiKey"
ALWAYS: Final = (401, 403, 429, 500)
"""What any route under `/v1` may answer."""
REF: Final = "#/components/schemas/{model}"


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problem answers of a route, as FastAPI takes them."""
    return {status: _described(status) for status in sorted({*statuses, *ALWAYS})}


def describe(app: FastAPI) -> dict[str, Any]:
    """The whole description."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, routes=app.routes)
        components = found.setdefault("components", {})
        _, definitions = models_json_schema([(Problem, "serialization")], ref_template=REF)
        components.setdefault("schemas", {}).update(definitions["$defs"])
        components["securitySchemes"] = {SCHEME: {"type": "http", "scheme": "bearer"}}
        for path, operations in found["paths"].items():
            for operation in operations.values():
                if path.startswith("/v1"):
                    # Without keys (the setting `auth` is `none`) nothing is asked for.
                    operation["security"] = [{SCHEME: []}, {}]
        app.openapi_schema = found
    return app.openapi_schema


def _described(status: int) -> dict[str, Any]:
    codes = [code for code, (given, _) in PROBLEMS.items() if given == status]
    return {
        "description": ", ".join(codes),
        "content": {MEDIA_TYPE: {"schema": {"$ref": REF.format(model=Problem.__name__)}}},
    }
