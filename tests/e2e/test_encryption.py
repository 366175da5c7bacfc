"""With `TURNWRIGHT_PAYLOAD_KEY`, Temporal holds nothing readable but what it sorts and finds by."""

import base64

from tests.e2e.operators import handle_of, history_of, payloads
from tests.support.app import ask, running_app, script
from tests.support.servers import TemporalServer
from turnwright.encryption import ENCODING, KEY_ID, key_id

OLD, NEW = (bytes([number]) * 32 for number in (1, 2))


def _setting(*keys: bytes) -> str:
    return ",".join(base64.b64encode(key).decode() for key in keys)


async def test_a_turn_works_and_its_history_holds_encrypted_payloads_alone(
    temporal_server: TemporalServer, sqlite_url: str
) -> None:
    """Failures included, whose messages and traces no codec alone would cover."""
    async with running_app(sqlite_url, temporal_server, payload_key=_setting(OLD)) as app:
        session = await app.session()
        good = await app.asked(session, ask("Which?"), {"text": "Done."})
        await app.post(f"/v1/runs/{good['id']}/input", {"text": "this"})
        assert (await app.ended(good["id"]))["status"] == "completed"
        bad = await app.turn(session, script({"error": {"kind": "refused"}}))
        assert bad["status"] == "failed"

    for run in (good, bad):
        handle = handle_of(temporal_server.client, run)
        history = await history_of(handle)
        found = [payload for event in history for payload in payloads(event)]
        assert found
        assert {payload.metadata["encoding"] for payload in found} == {ENCODING}
        assert "the run ended" not in str(history)


async def test_a_waiting_run_goes_on_after_its_key_was_rotated(
    temporal_server: TemporalServer, sqlite_url: str
) -> None:
    """The old key, behind the new one, still reads; the new one writes."""
    before = running_app(
        sqlite_url, temporal_server, task_queue="rotated", payload_key=_setting(OLD)
    )
    after = running_app(
        sqlite_url, temporal_server, task_queue="rotated", payload_key=_setting(NEW, OLD)
    )
    async with before as app:
        run = await app.asked(await app.session(), ask("Which?"), {"text": "Done."})
    async with after as app:
        answered = await app.post(f"/v1/runs/{run['id']}/input", {"text": "this"})
        assert answered.status_code == 202
        assert (await app.ended(run["id"]))["status"] == "completed"

    handle = handle_of(temporal_server.client, run)
    history = await history_of(handle)
    used = [payload.metadata[KEY_ID].decode() for event in history for payload in payloads(event)]
    assert set(used) == {key_id(OLD), key_id(NEW)}
    assert (used[0], used[-1]) == (key_id(OLD), key_id(NEW))
