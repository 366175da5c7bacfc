"""The scripted model: deterministic, stateless, and as bad as it is told to be."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.providers.building import (
    WEATHER,
    asking,
    assistant,
    call,
    ignore,
    result,
    say,
    scripted,
    user,
)
from turnwright.domain.errors import (
    ContextOverflow,
    ModelError,
    ModelRefused,
    ModelRejected,
    ModelUnavailable,
)
from turnwright.domain.messages import Opaque, Usage
from turnwright.providers import Providers


async def test_echo_repeats_the_trigger_word_by_word(models: Providers) -> None:
    response, pieces = await say(models, asking("scripted:echo", user("hello there,\n {answer} ")))

    assert response.text == "You said: hello there,\n {answer} "
    assert len(pieces) > 3
    assert "".join(pieces) == response.text
    assert response.finish_reason == "stop"


async def test_rounds_follow_each_other_and_end_with_done(models: Providers) -> None:
    """Which round it is follows from the run's own part of the conversation alone."""
    trigger = user(scripted({"text": "first"}, {"text": "second"}))
    before = (user("older", "run_0"), assistant("older answer", run_id="run_0"))

    said = []
    messages = [*before, trigger]
    for _ in range(3):
        response, _ = await say(models, asking("scripted:script", *messages))
        said.append(response.text)
        messages += [assistant(response.text), user("go on")]

    assert said == ["first", "second", "Done."]


async def test_the_same_request_gets_the_same_response(models: Providers) -> None:
    trigger = scripted({"text": "Let me see.", "calls": [{"name": "weather"}, {"name": "weather"}]})
    request = asking("scripted:script", user(trigger), tools=(WEATHER,))

    first, _ = await say(models, request)
    second, _ = await say(Providers(), request)

    assert first == second
    assert [made.id for made in first.tool_calls] == ["call_0_0", "call_0_1"]
    assert first.finish_reason == "tool_calls"
    assert first.usage.input_tokens > 0


async def test_a_run_on_an_older_message_takes_it_as_its_trigger(models: Providers) -> None:
    conversation = (
        user(scripted({"text": "first"}, {"text": "second"}), "run_0"),
        assistant("first", run_id="run_1"),
    )

    response, _ = await say(models, asking("scripted:script", *conversation))

    assert response.text == "second"


async def test_texts_come_in_as_many_pieces_as_told(models: Providers) -> None:
    trigger = scripted({"text": "0123456789", "pieces": 3})

    response, pieces = await say(models, asking("scripted:script", user(trigger)))

    assert pieces == ["0123", "4567", "89"]
    assert response.text == "0123456789"


async def test_a_round_says_its_usage_finish_reason_and_call_ids(models: Providers) -> None:
    trigger = scripted(
        {
            "text": "cut",
            "usage": {"input_tokens": 7, "output_tokens": 3},
            "finish_reason": "length",
        },
        {"calls": [{"name": "t", "id": "mine", "arguments": "{not json"}]},
    )

    first, _ = await say(models, asking("scripted:script", user(trigger)))
    second, _ = await say(models, asking("scripted:script", user(trigger), assistant("cut")))

    assert (first.usage, first.finish_reason) == (Usage(input_tokens=7, output_tokens=3), "length")
    assert (second.tool_calls[0].id, second.tool_calls[0].arguments) == ("mine", "{not json")


async def test_reasoning_comes_back_as_an_opaque_part(models: Providers) -> None:
    trigger = scripted({"text": "4", "reasoning": "2 + 2"})

    response, _ = await say(models, asking("scripted:script", user(trigger)))

    assert response.opaque == Opaque(
        provider="scripted", writer="scripted 1", data={"reasoning": "2 + 2"}
    )


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("unavailable", ModelUnavailable),
        ("rejected", ModelRejected),
        ("refused", ModelRefused),
        ("overflow", ContextOverflow),
    ],
)
async def test_a_round_can_fail_after_its_text(
    models: Providers, kind: str, error: type[ModelError]
) -> None:
    trigger = scripted({"text": "so far", "error": {"kind": kind, "retry_after": 1.5}})
    pieces: list[str] = []

    with pytest.raises(error) as failure:
        await models.respond(asking("scripted:script", user(trigger)), pieces.append)

    assert "".join(pieces) == "so far"
    assert failure.value.retry_after == 1.5


async def test_a_failing_round_succeeds_from_the_named_attempt_on(models: Providers) -> None:
    trigger = user(scripted({"text": "ok", "error": {"kind": "unavailable", "until_attempt": 3}}))

    with pytest.raises(ModelUnavailable):
        await models.respond(asking("scripted:script", trigger, attempt=2), ignore)
    response, _ = await say(models, asking("scripted:script", trigger, attempt=3))

    assert response.text == "ok"


async def test_a_hanging_round_streams_its_text_and_waits_for_cancel(models: Providers) -> None:
    trigger = scripted({"text": "all of it", "hang": True})
    streamed = asyncio.Event()
    pieces: list[str] = []

    def on_text(piece: str) -> None:
        pieces.append(piece)
        if "".join(pieces) == "all of it":
            streamed.set()

    asked = asyncio.create_task(models.respond(asking("scripted:script", user(trigger)), on_text))
    await streamed.wait()
    asked.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_the_journal_gets_a_line_for_every_time_the_model_is_asked(
    models: Providers, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    trigger = user(
        scripted(
            {"text": "a", "journal": str(journal), "error": {"kind": "refused"}},
            {"text": "b", "journal": str(journal)},
        )
    )

    with pytest.raises(ModelRefused):
        await models.respond(asking("scripted:script", trigger, attempt=2), ignore)
    await say(models, asking("scripted:script", trigger, assistant("a")))

    assert journal.read_text() == "run_1 0 2\nrun_1 1 1\n"


@pytest.mark.parametrize(
    "trigger", ["hello", '{"rounds": [{"txet": "misspelt"}]}', '{"rounds": 1}', "[]"]
)
async def test_a_trigger_that_is_no_script_is_rejected(models: Providers, trigger: str) -> None:
    with pytest.raises(ModelRejected, match="not a valid script"):
        await models.respond(asking("scripted:script", user(trigger)), ignore)


async def test_scripts_can_use_results_and_answers(models: Providers) -> None:
    trigger = scripted(
        {"calls": [{"name": "conversation_ask_user"}, {"name": "order"}]},
        {
            "text": "{answer}: {result:order.total} of {result:order}, {unknown} {}",
            "calls": [{"name": "pay", "arguments": {"sum": "{result:order.total}", "all": [1]}}],
        },
    )
    response, _ = await say(
        models,
        asking(
            "scripted:script",
            user(trigger),
            assistant("", call("conversation_ask_user", "a"), call("order", "b")),
            result("yes", "a"),
            result(json.dumps({"total": 12}), "b"),
        ),
    )

    assert response.text == 'yes: 12 of {"total": 12}, {unknown} {}'
    assert response.tool_calls[0].arguments == {"sum": 12, "all": [1]}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{answer}", "no result of 'conversation_ask_user'"),
        ("{result:order.x}", "no field 'x'"),
        ("{result:plain.x}", "not JSON"),
    ],
)
async def test_a_result_that_is_not_there_is_a_clear_rejection(
    models: Providers, text: str, fault: str
) -> None:
    conversation = (
        user(scripted({"text": "-"}, {"text": text})),
        assistant("-", call("order", "b"), call("plain", "c")),
        result('{"total": 12}', "b"),
        result("twelve", "c"),
    )

    with pytest.raises(ModelRejected, match=fault):
        await models.respond(asking("scripted:script", *conversation), ignore)
