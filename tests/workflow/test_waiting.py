"""Waiting costs nothing, and survives everything."""

import asyncio
from datetime import timedelta

from sqlalchemy.pool import QueuePool

from tests.support.app import ask, script
from tests.support.servers import TemporalServer
from tests.workflow.driving import Theatre, theatre
from turnwright.domain.run import RunStatus


async def test_a_waiting_run_holds_no_activity_no_timer_and_no_connection(stage: Theatre) -> None:
    """Behaviour 8."""
    session_id = await stage.session()
    async with stage.worker():
        run = await stage.asked(await stage.say(session_id, script(ask("Go on?", "yes", "no"))))
        assert run.status is RunStatus.WAITING_FOR_USER
        assert run.waiting is not None
        assert run.waiting.question is not None
        assert (run.waiting.question.text, run.waiting.question.choices) == (
            "Go on?",
            ("yes", "no"),
        )
        # The workflow task that found no answer has to be over.
        await stage.handle(run).query("__stack_trace")
        description = (await stage.handle(run).describe()).raw_description
        assert list(description.pending_activities) == []
        history = await stage.handle(run).fetch_history()
        assert not any(e.HasField("timer_started_event_attributes") for e in history.events)
        for engine in (stage.database.writer, stage.database.reader):
            assert isinstance(engine.pool, QueuePool)
            assert engine.pool.checkedout() == 0
        await stage.answer(run, "yes")
        await stage.ended(run)


async def test_a_wait_of_weeks_with_every_process_replaced_completes_once(
    migrated_database_url: str, temporal_server: TemporalServer
) -> None:
    """Behaviour 16: seven weeks later another worker, on another connection to the database."""
    url, time = migrated_database_url, temporal_server.time_skipper()
    async with theatre(url, time.client) as before:
        session_id = await before.session()
        async with before.worker():
            run = await before.asked(
                await before.say(session_id, script(ask("Go on?"), {"text": "It is {answer}"}))
            )
    await time.fast_forward(before.handle(run), timedelta(weeks=7))
    async with theatre(url, temporal_server.client) as after:
        # The queue is where the execution looks for workers, whoever they are.
        after.parts.executions.task_queue = before.parts.executions.task_queue
        async with after.worker():
            await after.answer(run, "so")
            run = await after.ended(run)
            await after.handle(run).result()
        assert run.status is RunStatus.COMPLETED
        assert run.output is not None
        assert run.output.text == "It is so"
        types = [event.type for event in await after.log(run)]
        assert types.count("question.answered") == types.count("run.completed") == 1
        assert types.count("round.started") == 2
        times = [e.event_time for e in (await after.handle(run).fetch_history()).events]
    assert times[-1].ToDatetime() - times[0].ToDatetime() > timedelta(weeks=7)


async def test_an_answer_that_comes_with_no_worker_takes_effect_once_there_is_one(
    stage: Theatre,
) -> None:
    session_id = await stage.session()
    async with stage.worker():
        run = await stage.asked(await stage.say(session_id, script(ask("Go on?"), {"text": "Yes"})))
    await stage.answer(run, "yes")
    async with stage.worker():
        assert (await stage.ended(run)).status is RunStatus.COMPLETED


async def test_two_questions_of_one_round_are_asked_one_after_the_other(stage: Theatre) -> None:
    session_id = await stage.session()
    both = {"calls": [*ask("First?")["calls"], *ask("Second?")["calls"]]}
    async with stage.worker():
        run = await stage.asked(await stage.say(session_id, script(both, {"text": "Done"})))
        first = run.waiting and run.waiting.question
        assert first is not None
        await stage.answer(run, "1")
        run = await stage.until(
            run, lambda now: bool(now.waiting and now.waiting.question not in (None, first))
        )
        await stage.answer(run, "2")
        assert (await stage.ended(run)).status is RunStatus.COMPLETED
    answers = [e.data["content"] for e in await stage.log(run) if e.type == "tool.returned"]
    assert answers == ["1", "2"]


async def test_signals_without_an_answer_change_nothing(stage: Theatre) -> None:
    """A wake-up is a hint: the inbox alone says whether there is an answer."""
    session_id = await stage.session()
    async with stage.worker():
        run = await stage.asked(await stage.say(session_id, script(ask("Go on?"), {"text": "Yes"})))
        await asyncio.gather(
            *(stage.parts.executions.wake(session_id, "msg_none") for _ in range(5))
        )
        await stage.handle(run).query("__stack_trace")
        assert await stage.asked(run) == run
        await stage.answer(run, "yes")
        assert (await stage.ended(run)).status is RunStatus.COMPLETED
