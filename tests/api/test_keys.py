"""API keys: who is let in, what for, and to whose sessions."""

from collections.abc import AsyncIterator, Generator

import httpx
import pytest

from api.rates import Rates
from tests.support.app import App, running_app, script
from tests.support.servers import TemporalServer
from turnwright.domain.errors import Invalid, NotFound
from turnwright.store.keys import create_key, list_keys, revoke_key

SOME_SESSION = "/v1/sessions/ses_01h455vb4pex5vsknk084sn02q"


@pytest.fixture
async def locked(temporal_server: TemporalServer, migrated_database_url: str) -> AsyncIterator[App]:
    """An application that asks for keys, on each database."""
    async with running_app(
        migrated_database_url, temporal_server, worker=False, auth="keys"
    ) as running:
        yield running


async def bearer(app: App, *scopes: str, tenant: str = "acme", name: str = "bot") -> httpx.Auth:
    """A new key, as a client sends it."""
    key = await app.database.write(create_key, tenant=tenant, scopes=scopes, name=name)
    return Bearer(key)


class Bearer(httpx.Auth):
    """`Authorization: Bearer …`."""

    def __init__(self, key: str) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._key}"
        yield request


async def test_without_a_valid_key_nothing_is_said(locked: App) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer tw_wrong"},
        {"Authorization": "Basic eDp5"},
    ):
        for answer in (
            await locked.client.get("/v1/sessions", headers=headers),
            await locked.client.get("/v1/sessions/nonsense", headers=headers),
            await locked.client.post("/v1/sessions", content=b"{", headers=headers),
            await locked.client.get(f"{SOME_SESSION}/stream", headers=headers),
        ):
            assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
            assert answer.headers["WWW-Authenticate"] == "Bearer"
    for path in ("/healthz", "/openapi.json", "/metrics"):
        assert (await locked.client.get(path)).status_code == 200


async def test_no_scope_includes_another(locked: App) -> None:
    read, write = await bearer(locked, "read"), await bearer(locked, "write")
    body = {"agent": "scripted"}
    refused = [
        await locked.client.get("/v1/sessions", auth=write),
        await locked.client.post("/v1/sessions", json=body, auth=read),
        # The scope goes before ids and bodies.
        await locked.client.patch("/v1/sessions/nonsense", json={"x": 1}, auth=read),
    ]
    assert {(a.status_code, a.json()["code"]) for a in refused} == {(403, "FORBIDDEN")}
    assert (await locked.client.get("/v1/sessions", auth=read)).status_code == 200
    assert (await locked.client.post("/v1/sessions", json=body, auth=write)).status_code == 201


async def test_what_belongs_to_another_tenant_does_not_exist(locked: App) -> None:
    ours = await bearer(locked, "read", "write")
    theirs = await bearer(locked, "read", "write", tenant="other")
    created = await locked.client.post("/v1/sessions", json={"agent": "scripted"}, auth=ours)
    session = f"/v1/sessions/{created.json()['id']}"
    said = await locked.client.post(f"{session}/messages", json={"text": "hi"}, auth=ours)
    assert said.json()["message"]["author"] == "bot"
    run = f"/v1/runs/{said.json()['run']['id']}"

    client = locked.client
    for answer in (
        await client.get(session, auth=theirs),
        await client.get(f"{session}/events", auth=theirs),
        await client.get(f"{session}/history", auth=theirs),
        await client.get(f"{session}/stream", auth=theirs),
        await client.patch(session, json={"title": "x"}, auth=theirs),
        await client.post(f"{session}/messages", json={"text": "x"}, auth=theirs),
        await client.post(f"{session}/messages", json={"nonsense": 1}, auth=theirs),
        await client.post(f"{session}/send", json={"text": "x"}, auth=theirs),
        await client.get(run, auth=theirs),
        await client.get(f"{run}/events", auth=theirs),
        await client.get(f"{run}/stream", auth=theirs),
        await client.post(f"{run}/input", json={"text": "x"}, auth=theirs),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert (await client.get("/v1/sessions", auth=theirs)).json()["data"] == []
    assert (await client.get("/v1/runs", auth=theirs)).json()["data"] == []
    assert (await client.delete(session, auth=theirs)).status_code == 204
    assert (await client.get(session, auth=ours)).status_code == 200


async def test_an_idempotency_key_is_its_tenants_own(locked: App) -> None:
    for tenant in ("acme", "other"):
        auth = await bearer(locked, "write", tenant=tenant)
        answer = await locked.client.post(
            "/v1/sessions",
            json={"agent": "scripted"},
            headers={"Idempotency-Key": "k"},
            auth=auth,
        )
        assert answer.status_code == 201
        assert "Idempotency-Replayed" not in answer.headers


async def test_a_revoked_key_lets_nobody_in_and_none_is_stored(locked: App) -> None:
    auth = await bearer(locked, "read")
    assert (await locked.client.get("/v1/sessions", auth=auth)).status_code == 200
    (known,) = await locked.database.read(list_keys)
    assert (known.tenant, known.name, known.scopes) == ("acme", "bot", ("read",))
    assert not known.revoked
    await locked.database.write(revoke_key, known.id)
    assert (await locked.client.get("/v1/sessions", auth=auth)).status_code == 401
    assert (await locked.database.read(list_keys))[0].revoked
    with pytest.raises(NotFound):
        await locked.database.write(revoke_key, "key_unknown")


async def test_a_key_needs_scopes_that_there_are(locked: App) -> None:
    for scopes in ((), ("admin",), ("read", "all")):
        with pytest.raises(Invalid):
            await locked.database.write(create_key, tenant="acme", scopes=scopes)


async def test_a_key_over_its_rate_is_told_when_to_come_back(
    temporal_server: TemporalServer, migrated_database_url: str
) -> None:
    async with running_app(
        migrated_database_url, temporal_server, worker=False, auth="keys", rate_limit=2
    ) as app:
        one, two = await bearer(app, "read"), await bearer(app, "read")
        answers = [await app.client.get("/v1/runs", auth=one) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[2].json()["code"] == "RATE_LIMITED"
        assert 1 <= int(answers[2].headers["Retry-After"]) <= 30
        assert (await app.client.get("/v1/runs", auth=two)).status_code == 200


def test_a_bucket_fills_as_time_passes() -> None:
    now = 0.0
    rates = Rates(60, clock=lambda: now)
    assert [rates.take("key") for _ in range(61)] == [0] * 60 + [1]
    now = 1.0
    assert [rates.take("key"), rates.take("key")] == [0, 1]
    assert Rates(None).take("key") == 0


async def test_without_keys_everybody_is_the_default_tenant(idle_app: App) -> None:
    session = await idle_app.session()
    said = await idle_app.say(session, script({"text": "Hi."}))
    assert said["message"]["author"] is None
