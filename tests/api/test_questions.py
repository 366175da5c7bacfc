"""Waiting for the user: one answer, told truthfully to everybody (BEHAVIOURS.md, 8 to 17)."""

import asyncio

import httpx

from tests.support.app import App, Json, ask, script


def refused(answer: httpx.Response, code: str, status: int = 409) -> Json:
    """The problem, which must be this one."""
    problem: Json = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    return problem


async def test_a_question_is_readable_in_the_run_and_in_its_event(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?", "staging", "production"), {"text": "Done."})

    assert run["status"] == "waiting_for_user"
    question = run["waiting"]["question"]
    assert question["text"] == "Which?"
    assert question["choices"] == ["staging", "production"]
    (event,) = (e for e in await app.events(session) if e["type"] == "run.waiting")
    assert event["data"]["question"] == question
    assert set(run["waiting"]) == {"since", "until", "limit", "approval", "question"}
    row = await app.get(f"/v1/sessions/{session}")
    assert row["active_run"] == {"id": run["id"], "status": "waiting_for_user"}
    await app.post(f"/v1/runs/{run['id']}/input", {"choice": "staging"})
    await app.ended(run["id"])


async def test_prose_that_ends_in_a_question_mark_completes_the_turn(app: App) -> None:
    run = await app.turn(await app.session(), script({"text": "Shall I go on?"}))
    assert run["status"] == "completed"


async def test_an_answer_lets_the_same_run_go_on_to_its_end(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?"), {"text": "Done."})

    answer = await app.post(f"/v1/runs/{run['id']}/input", {"text": "this"})
    assert answer.status_code == 202
    assert answer.json()["run"]["id"] == run["id"]
    assert answer.json()["message"]["in_reply_to"] == run["waiting"]["question"]["id"]
    ended = await app.ended(run["id"])
    assert (ended["status"], ended["output"]["text"]) == ("completed", "Done.")
    events = await app.events(session)
    assert [e["type"] for e in events].count("question.answered") == 1
    (after,) = (e for e in events if e["sequence"] == answer.json()["after"] + 1)
    assert after["type"] == "message.user"
    assert after["data"]["message_id"] == answer.json()["message"]["id"]


async def test_of_concurrent_answers_one_is_accepted_and_the_others_are_told(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?"), {"text": "Done."})

    answers = await asyncio.gather(
        *(app.post(f"/v1/runs/{run['id']}/input", {"text": f"answer {n}"}) for n in range(8))
    )
    won = [answer for answer in answers if answer.status_code == 202]
    assert len(won) == 1
    lost = {answer.json()["code"] for answer in answers if answer.status_code != 202}
    assert lost <= {"QUESTION_ANSWERED", "RUN_NOT_WAITING"}
    await app.ended(run["id"])
    (event,) = (e for e in await app.events(session) if e["type"] == "question.answered")
    assert event["data"]["message_id"] == won[0].json()["message"]["id"]


async def test_the_identical_answer_is_given_the_first_answer_again(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?", "x", "y"), {"text": "Done."})
    path, question = f"/v1/runs/{run['id']}/input", run["waiting"]["question"]["id"]

    first = await app.post(path, {"choice": "x"}, key="one")
    await app.ended(run["id"])
    again = await app.post(path, {"choice": "x"}, key="one")
    assert (again.status_code, again.text) == (202, first.text)
    assert again.headers["Idempotency-Replayed"] == "true"
    without_key = await app.post(path, {"text": "x", "question_id": question})
    assert without_key.status_code == 202
    assert without_key.json()["message"] == first.json()["message"]
    other = await app.post(path, {"choice": "y", "question_id": question})
    refused(other, "QUESTION_ANSWERED")
    events = await app.events(session)
    assert [e["type"] for e in events].count("question.answered") == 1


async def test_a_wrong_question_or_choice_is_refused_and_the_run_still_waits(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?", "x", "y"), {"text": "Done."})
    path = f"/v1/runs/{run['id']}/input"

    unknown = {"choice": "x", "question_id": "qst_01h455vb4pex5vsknk084sn02q"}
    refused(await app.post(path, unknown), "QUESTION_MISMATCH")
    for body in ({"choice": "z"}, {"text": "z"}, {"text": "x", "choice": "x"}, {}):
        refused(await app.post(path, body), "VALIDATION_FAILED", 422)
    assert await app.run(run["id"]) == run
    await app.post(path, {"text": "y"})
    await app.ended(run["id"])


async def test_a_choice_without_choices_is_refused(app: App) -> None:
    session = await app.session()
    run = await app.asked(session, ask("Which?"), {"text": "Done."})

    answer = await app.post(f"/v1/runs/{run['id']}/input", {"choice": "x"})
    refused(answer, "VALIDATION_FAILED", 422)
    await app.post(f"/v1/runs/{run['id']}/input", {"text": "x"})
    await app.ended(run["id"])


async def test_input_in_any_other_state_names_that_state(app: App) -> None:
    run = await app.turn(await app.session(), script({"text": "Done."}))
    problem = refused(
        await app.post(f"/v1/runs/{run['id']}/input", {"text": "x"}), "RUN_NOT_WAITING"
    )
    assert problem["run_status"] == "completed"


async def test_a_starting_run_takes_no_input_and_no_send(idle_app: App) -> None:
    session = await idle_app.session()
    run = (await idle_app.say(session, script({"text": "Done."})))["run"]

    answer = await idle_app.post(f"/v1/runs/{run['id']}/input", {"text": "x"})
    assert refused(answer, "RUN_NOT_WAITING")["run_status"] == "starting"
    sent = await idle_app.post(f"/v1/sessions/{session}/send", {"text": "x"})
    assert refused(sent, "SESSION_NOT_AWAITING_USER")["run_id"] == run["id"]
    async with idle_app.working():
        assert (await idle_app.ended(run["id"]))["status"] == "completed"


async def test_send_is_routed_by_state_alone(app: App) -> None:
    session = await app.session()
    path = f"/v1/sessions/{session}/send"

    sent = await app.post(path, {"text": script(ask("Which?", "x", "y"), {"text": "Done."})})
    assert (sent.status_code, sent.json()["routed"]) == (202, "message")
    run_id = sent.json()["run"]["id"]
    await app.reached(run_id, "run.waiting")
    refused(await app.post(path, {"text": "none of the choices"}), "VALIDATION_FAILED", 422)
    answered = await app.post(path, {"text": "x"})
    assert (answered.status_code, answered.json()["routed"]) == (202, "input")
    assert answered.json()["run"]["id"] == run_id
    await app.ended(run_id)
    closed = await app.client.patch(f"/v1/sessions/{session}", json={"status": "closed"})
    assert closed.status_code == 200
    refused(await app.post(path, {"text": "hello"}), "SESSION_COMPLETED")


async def test_between_an_accepted_answer_and_the_resumption_nothing_else_is_taken(
    idle_app: App,
) -> None:
    session = await idle_app.session()
    async with idle_app.working():
        run = await idle_app.asked(session, ask("Which?"), {"text": "Done."})
    path = f"/v1/runs/{run['id']}/input"

    assert (await idle_app.post(path, {"text": "this"}, key="k")).status_code == 202
    assert (await idle_app.run(run["id"]))["status"] == "waiting_for_user"
    refused(await idle_app.post(path, {"text": "that"}), "QUESTION_ANSWERED")
    send = await idle_app.post(f"/v1/sessions/{session}/send", {"text": "this"})
    refused(send, "SESSION_NOT_AWAITING_USER")
    assert (await idle_app.post(path, {"text": "this"}, key="k")).status_code == 202
    async with idle_app.working():
        assert (await idle_app.ended(run["id"]))["status"] == "completed"
