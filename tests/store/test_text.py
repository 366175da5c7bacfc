"""Whatever people write comes back as they wrote it, on both databases alike."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.building import TENANT, Bench, response, result
from turnwright.domain.messages import ToolCall
from turnwright.domain.run import Failure
from turnwright.store.sessions import NewSession, create_session

ODD = {
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \U0001f3f4",
    "right to left": "שלום \u202eabc\u202c مرحبا",
    "beyond the basic plane": "\U0001d518\U0001d52b \U0002070e \U0010ffff",
    "decomposed": "e\u0301 \u1100\u1161 a\u0323\u0307",
    "controls": "\x01\x1f\x7f\u0085\u2028\u2029\ufeff\ufffe\r\n\t",
    "quotes": "'\"`\\ %s :name ${x} {y} -- /* \\u0000 \\x00",
    "spaces": "  \u00a0\u3000 ",
    "very long": "häß🐍" * 200_000,
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
async def test_odd_text_comes_back_as_it_was(bench: Bench, text: str) -> None:
    """As a trigger, a model's words, arguments, a result, a question, a choice, an answer."""
    session_id = await bench.session()
    owner = await bench.started(session_id, text)
    call = ToolCall(id="c1", name="look", arguments={text[:1000]: [text, None, 0.1, 2**53]})
    bad = ToolCall(id="c2", name=text[:1000], arguments=text)
    spoken = response(text).model_copy(update={"tool_calls": (call, bad)})
    await bench.round(owner, 1, spoken)
    await bench.runs.finish_call(owner, result("c1", text), whole=text)
    await bench.runs.ask(owner, "c2", text=text, choices=[text, "other"], within=None)
    await bench.answer(owner, choice=text)
    await bench.take(owner)
    said = (await bench.runs.begin_round(owner, 2)).messages
    assert [message.text for message in said] == [text, text, text, text]
    assert said[1].tool_calls == (call, bad)
    await bench.round(owner, 2, response(text))
    output = (await bench.run(owner)).output
    assert output is not None
    assert output.text == text


async def test_odd_text_in_what_surrounds_a_run_comes_back_too(bench: Bench) -> None:
    for text in ODD.values():
        new = NewSession(
            tenant=TENANT, agent="a", room=text[:200], title=text, metadata={text[:99]: text}
        )
        session = await bench.database.write(create_session, new)
        assert (session.room, session.title) == (new.room, new.title)
        assert session.metadata == new.metadata
        owner = await bench.started(session.id)
        await bench.runs.fail(owner, Failure(reason="model_error", message=text))
        failure = (await bench.run(owner)).failure
        assert failure is not None
        assert failure.message == text


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXT)
async def test_any_text_comes_back_as_it_was(bench: Bench, text: str) -> None:
    owner = await bench.started(text=text)
    (said,) = (await bench.runs.begin_round(owner, 1)).messages
    assert said.text == text
