"""A turn over HTTP: one message, one run, to its readable end."""

import asyncio

from tests.support.app import App, ask, script


async def test_one_message_is_exactly_one_run_in_the_contracts_order(app: App) -> None:
    session = await app.session(room="research", metadata={"a": [1, None]})
    accepted = await app.say(session, script({"text": "Hello."}), metadata={"from": "test"})

    assert accepted["run"]["status"] == "starting"
    assert accepted["run"]["trigger_message_id"] == accepted["message"]["id"]
    assert accepted["after"] == 1
    run = await app.ended(accepted["run"]["id"])
    events = await app.events(session)
    assert [event["type"] for event in events] == [
        "session.created",
        "message.user",
        "run.started",
        "round.started",
        "round.finished",
        "message.assistant",
        "run.completed",
    ]
    assert [event["sequence"] for event in events] == [1, 2, 3, 4, 5, 6, 7]
    assert events[1]["data"]["metadata"] == {"from": "test"}
    assert run["status"] == "completed"
    assert run["output"]["text"] == "Hello."
    assert run["last_sequence"] == 7
    assert run["room"] == "research"
    assert run["ended_at"] == events[-1]["created_at"]
    assert run["temporal"]["workflow_id"] == f"session/{session}"
    assert run["temporal"]["execution_id"] == events[2]["data"]["execution_id"]
    assert "execution_id" not in run


async def test_times_are_utc_and_end_in_z(app: App) -> None:
    session = await app.session()
    run = await app.turn(session, script({"text": "Hello."}))

    times = [run[name] for name in ("created_at", "started_at", "updated_at", "ended_at")]
    assert all(time.endswith("Z") for time in times)
    assert times == sorted(times)


async def test_whoever_sees_run_completed_can_read_row_and_output(app: App) -> None:
    session = await app.session()
    accepted = await app.say(session, script({"text": "Hello."}))
    run_id = accepted["run"]["id"]

    async with app.stream(f"/v1/sessions/{session}/stream", last=accepted["after"]) as frames:
        async for frame in frames:
            if frame.event == "run.completed":
                break
    run = await app.run(run_id)
    assert (run["status"], run["output"]["text"]) == ("completed", "Hello.")


async def test_a_message_in_any_active_state_is_busy_and_names_run_and_status(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?"), {"text": "Done."})

    refused = await app.post(f"/v1/sessions/{session}/messages", {"text": "hello"})
    assert refused.status_code == 409
    problem = refused.json()
    assert problem["code"] == "SESSION_BUSY"
    assert (problem["run_id"], problem["run_status"]) == (run["id"], "waiting_for_user")
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "this"})
    await app.ended(run["id"])


async def test_concurrent_messages_make_one_run_and_the_rest_are_busy(app: App) -> None:
    session = await app.session()
    body = {"text": script({"text": "Hello."})}

    answers = await asyncio.gather(
        *(app.post(f"/v1/sessions/{session}/messages", body) for _ in range(8))
    )
    accepted = [answer.json()["run"]["id"] for answer in answers if answer.status_code == 202]
    assert len(accepted) >= 1
    assert {answer.status_code for answer in answers} <= {202, 409}
    for run_id in accepted:
        await app.ended(run_id)
    events = await app.events(session)
    assert [event["type"] for event in events].count("message.user") == len(accepted)


async def test_a_message_right_after_run_completed_is_never_busy(app: App) -> None:
    session = await app.session()
    for number in range(5):
        run = await app.turn(session, script({"text": f"Turn {number}."}))
        assert run["status"] == "completed"


async def test_a_message_may_choose_agent_model_and_limits(app: App) -> None:
    session = await app.session()
    run = await app.turn(session, "hi", model="scripted:echo", limits={"rounds": 1})

    assert run["model"] == "scripted:echo"
    assert run["limits"] == {
        "rounds": 1,
        "tool_calls": 100,
        "total_tokens": 400_000,
        "seconds": None,
    }
    assert run["output"]["text"] == "You said: hi"


async def test_history_is_what_the_next_run_is_seeded_with(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?"), {"text": "Done."})
    empty = await app.get(f"/v1/sessions/{session}/history")
    assert empty["messages"] == []
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "this one"})
    await app.ended(run["id"])

    history = await app.get(f"/v1/sessions/{session}/history")
    assert [message["role"] for message in history["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    call = history["messages"][1]["tool_calls"][0]
    assert call["name"] == "conversation.ask_user"
    assert history["messages"][2]["tool_call_id"] == call["id"]
    assert history["messages"][2]["text"] == "this one"
    assert "tool_calls" not in history["messages"][0]
    assert history["compaction"] is None
    assert history["tokens"] > 0
    assert history["last_sequence"] == (await app.events(session))[-1]["sequence"]
