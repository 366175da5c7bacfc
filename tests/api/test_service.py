"""Agents, health, metrics, the description, and what every answer carries."""

import httpx
import psycopg
from sqlalchemy import update

from api.errors import PROBLEMS
from api.schemas import EVENT_TYPES
from tests.support.app import App, running_app, script
from tests.support.databases import Databases
from tests.support.servers import TemporalServer
from turnwright import Agent, tool
from turnwright.domain import events
from turnwright.domain.errors import Refused
from turnwright.embedded import temporal_dev_server
from turnwright.store import tables


@tool(name="orders.lookup", repeatable=True)
def lookup(order: str) -> str:
    """Look an order up."""
    return order


SHOP = Agent(
    name="shop",
    version="3",
    description="Sells.",
    instructions="Sell.",
    model="scripted:echo",
    tools=[lookup],
)
BOT = Agent(name="bot", instructions="", model="scripted:echo")


async def test_agents_are_described_as_callers_need_them(
    temporal_server: TemporalServer, migrated_database_url: str
) -> None:
    async with running_app(
        migrated_database_url, temporal_server, agents=[SHOP, BOT], worker=False
    ) as app:
        shop = await app.get("/v1/agents/shop")
        assert {name: shop[name] for name in ("name", "version", "description", "model")} == {
            "name": "shop",
            "version": "3",
            "description": "Sells.",
            "model": "scripted:echo",
        }
        (described,) = shop["tools"]
        assert described["name"] == "orders.lookup"
        assert (described["repeatable"], described["approval"]) == (True, "never")
        assert described["parameters"]["required"] == ["order"]
        page = await app.get("/v1/agents", limit=1)
        assert [agent["name"] for agent in page["data"]] == ["bot"]
        rest = await app.get("/v1/agents", cursor=page["next_cursor"])
        assert rest == {"data": [shop], "next_cursor": None}


async def test_readiness_names_what_fails(idle_app: App) -> None:
    assert (await idle_app.client.get("/healthz")).status_code == 200
    answer = await idle_app.client.get("/readyz")
    assert (answer.status_code, answer.json()["failing"]) == (503, ["worker"])
    async with idle_app.working():
        await idle_app.turn(await idle_app.session(), script({"text": "Hi."}))
        assert (await idle_app.client.get("/readyz")).status_code == 200


async def test_only_readiness_needs_temporal(migrated_database_url: str) -> None:
    async with temporal_dev_server() as server:
        away = server.address
    # A worker that comes later takes what was accepted meanwhile: see the chaos tests.
    gone = Away(away)
    async with running_app(
        migrated_database_url, gone, worker=False, temporal_namespace="default"
    ) as app:
        session = await app.session()
        assert (await app.say(session, script({"text": "Hi."})))["run"]["status"] == "starting"
        answer = await app.client.get("/readyz")
        assert (answer.status_code, answer.json()["failing"]) == (503, ["temporal"])


class Away:
    """A Temporal server that is not there."""

    def __init__(self, address: str) -> None:
        self.address = address


async def test_what_was_counted_is_told_by_route(app: App) -> None:
    session = await app.session()
    await app.turn(session, script({"text": "Hi."}))
    await app.client.get("/nowhere/else")
    text = (await app.client.get("/metrics")).text
    assert (
        'turnwright_http_requests_total{method="POST",'
        'route="/v1/sessions/{session_id}/messages",status="202"} 1.0' in text
    )
    assert 'turnwright_http_requests_total{method="none",route="none",status="404"} 1.0' in text
    assert "turnwright_open_streams 0.0" in text
    assert session not in text


async def test_the_description_names_every_route_and_its_refusals(idle_app: App) -> None:
    described = await idle_app.get("/openapi.json")
    assert set(described["paths"]) == {
        "/v1/sessions",
        "/v1/sessions/{session_id}",
        "/v1/sessions/{session_id}/messages",
        "/v1/sessions/{session_id}/queue",
        "/v1/sessions/{session_id}/queue/{message_id}",
        "/v1/sessions/{session_id}/send",
        "/v1/sessions/{session_id}/cancel",
        "/v1/sessions/{session_id}/events",
        "/v1/sessions/{session_id}/stream",
        "/v1/sessions/{session_id}/history",
        "/v1/runs",
        "/v1/runs/{run_id}",
        "/v1/runs/{run_id}/events",
        "/v1/runs/{run_id}/stream",
        "/v1/runs/{run_id}/input",
        "/v1/runs/{run_id}/approvals/{approval_id}",
        "/v1/runs/{run_id}/budget",
        "/v1/runs/{run_id}/cancel",
        "/v1/runs/{run_id}/retry",
        "/v1/runs/{run_id}/steer",
        "/v1/rooms/{room}/cancel",
        "/v1/watch",
        "/v1/agents",
        "/v1/agents/{name}",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            names = {parameter["name"] for parameter in operation.get("parameters", ())}
            assert ("Idempotency-Key" in names) == (method != "get"), path
            if not path.startswith("/v1"):
                continue
            assert {"ApiKey": []} in operation["security"]
            refusals = {s: r for s, r in operation["responses"].items() if s >= "400"}
            assert set(refusals) >= {"401", "403", "429", "500"}
            for refusal in refusals.values():
                assert set(refusal["content"]) == {"application/problem+json"}
    for reference in references(described):
        assert reference.removeprefix("#/components/schemas/") in described["components"]["schemas"]
    message = described["paths"]["/v1/sessions/{session_id}/messages"]["post"]
    assert message["requestBody"]["required"]
    stream = described["paths"]["/v1/runs/{run_id}/stream"]["get"]
    assert "text/event-stream" in stream["responses"]["200"]["content"]


def references(value: object) -> list[str]:
    """Every `$ref` in a description."""
    if isinstance(value, dict):
        found = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return found + [ref for item in value.values() for ref in references(item)]
    if isinstance(value, list):
        return [ref for item in value for ref in references(item)]
    return []


async def test_every_answer_forbids_sniffing_and_none_allows_other_origins(
    idle_app: App,
) -> None:
    for path in ("/v1/runs", "/nowhere", "/healthz"):
        answer = await idle_app.client.get(path, headers={"Origin": "http://elsewhere.example"})
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_a_fault_of_ours_says_nothing_of_the_inside(idle_app: App) -> None:
    session = await idle_app.session()
    # An event that a newer version wrote: reading it fails loudly and touches nothing.
    await idle_app.database.write(
        lambda tx: tx.connection.execute(update(tables.events).values(schema_version=99))
    )
    answer = await idle_app.client.get(f"/v1/sessions/{session}/events")
    assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL")
    assert "99" not in answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"


async def test_a_database_that_cannot_be_reached_is_unavailable_and_the_key_still_good(
    temporal_server: TemporalServer, postgres_databases: Databases
) -> None:
    with postgres_databases.migrated() as url:
        async with running_app(url, temporal_server, worker=False) as app:
            session = await app.session()
            path, body = f"/v1/sessions/{session}/messages", {"text": "hi"}
            with psycopg.connect(url) as blocking:
                blocking.execute("lock table sessions in access exclusive mode")
                answer = await app.post(path, body, key="k")
                assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
                assert int(answer.headers["Retry-After"]) >= 1
            answers: list[httpx.Response] = [await app.post(path, body, key="k") for _ in "12"]
            assert [answer.status_code for answer in answers] == [202, 202]
            assert len((await app.get("/v1/runs"))["data"]) == 1


def test_every_refusal_has_its_status_and_every_event_can_be_asked_for() -> None:
    assert {error.code for error in concrete(Refused)} <= set(PROBLEMS)
    assert set(EVENT_TYPES) >= set(events.EVENT_TYPES)


def concrete(kind: type[Refused]) -> list[type[Refused]]:
    """Every kind of refusal below this one."""
    below = kind.__subclasses__()
    return below + [found for child in below for found in concrete(child)]


async def test_the_description_of_a_change_has_no_default_that_would_change_something(
    idle_app: App,
) -> None:
    described = await idle_app.get("/openapi.json")
    for name, field in described["components"]["schemas"]["SessionPatch"]["properties"].items():
        assert field.get("default") is None, name
