"""The queue, folded from the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain import building as b
from turnwright.domain import events as e
from turnwright.domain.queue import Queue, fold_queue
from turnwright.domain.run import Limits
from turnwright.domain.sessions import AgentChoice


def queued(message_id: str, position: int) -> e.MessageQueued:
    return e.MessageQueued(
        message_id=message_id,
        position=position,
        text=f"words of {message_id}",
        agent="assistant",
        agent_version="3",
        model="scripted:echo",
        limits=Limits(rounds=7),
        metadata={"k": 1},
        author="ann",
    )


def line(queue: Queue) -> list[tuple[int, str]]:
    return [(message.position, message.message_id) for message in queue.waiting]


def test_a_message_stands_where_the_log_put_it_and_the_others_move_up() -> None:
    log = b.Log().turn("run_a", "one", "1")
    log.add(None, queued("msg_1", 1), queued("msg_2", 2), queued("msg_3", 1))
    assert line(fold_queue(log)) == [(1, "msg_3"), (2, "msg_1"), (3, "msg_2")]
    log.add(None, e.MessageWithdrawn(message_id="msg_1", position=2))
    assert line(fold_queue(log)) == [(1, "msg_3"), (2, "msg_2")]


def test_all_that_the_run_will_be_made_of_is_in_the_log() -> None:
    log = b.Log().add(None, queued("msg_1", 1), queued("msg_2", 2))
    log.add(None, e.MessageDequeued(message_id="msg_1", position=1, run_id="run_b"))
    queue = fold_queue(log)
    assert line(queue) == [(1, "msg_2")]
    (taken,) = queue.taken
    assert (taken.run_id, taken.at) == ("run_b", log.events[2].created_at)
    message = taken.message
    assert (message.text, message.author, message.metadata) == ("words of msg_1", "ann", {"k": 1})
    assert message.created_at == log.events[0].created_at
    assert message.choice == AgentChoice(
        actor="assistant", version="3", model="scripted:echo", limits=Limits(rounds=7)
    )


STEPS = st.lists(st.tuples(st.sampled_from(["front", "back", "take", "withdraw"]), st.integers()))


@given(STEPS)
def test_the_fold_does_what_a_list_does(steps: list[tuple[str, int]]) -> None:
    log, model, taken = b.Log(), list[str](), list[str]()
    for number, (step, chosen) in enumerate(steps):
        name = f"msg_{number}"
        match step:
            case "front":
                model.insert(0, name)
                log.add(None, queued(name, 1))
            case "back":
                model.append(name)
                log.add(None, queued(name, len(model)))
            case "take" if model:
                taken.append(model.pop(0))
                log.add(None, e.MessageDequeued(message_id=taken[-1], position=1, run_id=name))
            case "withdraw" if model:
                at = chosen % len(model)
                log.add(None, e.MessageWithdrawn(message_id=model.pop(at), position=at + 1))
            case _:
                pass
        queue = fold_queue(log)
        assert line(queue) == list(enumerate(model, 1))
        assert [one.message.message_id for one in queue.taken] == taken


@pytest.mark.parametrize("log", [b.Log(), b.Log().turn("run_a", "one", "1")])
def test_a_session_that_never_queued_anything_has_an_empty_queue(log: b.Log) -> None:
    assert fold_queue(log) == Queue()
