"""The conversations of retries: what a retry goes on with, and what its successors read."""

from dataclasses import dataclass, field
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from tests.domain import building as b
from turnwright.domain import events as e
from turnwright.domain.history import INTERRUPTED, conversation, to_be_redone
from turnwright.domain.messages import Message, Opaque, Outcome
from turnwright.domain.run import RetryFrom, RunUsage

FAILED = e.RunFailed(usage=RunUsage())
COMPLETED = e.RunCompleted(usage=RunUsage())
Entry = tuple[str, str, str]
"""Role; text, calls or id of the call; outcome."""


def read(messages: tuple[Message, ...]) -> list[Entry]:
    return [
        (m.role, " ".join(c.id for c in m.tool_calls) or m.tool_call_id or m.text, m.outcome or "")
        for m in messages
    ]


def again(run_id: str, of: str, start: RetryFrom = "checkpoint") -> e.RunStarted:
    return b.started(run_id, retry_of=of, retry_from=start)


def redone(call_id: str) -> e.ToolCalled:
    return b.called(call_id, number=0)


def cut(call_id: str) -> e.ToolReturned:
    return b.returned(call_id, "cut short", outcome="cancelled")


def failed_attempt() -> b.Log:
    """`run_a`: a round, steering, and a round of which two calls were cut short."""
    log = b.Log().turn("run_0", "before", "0")
    log.add("run_a", b.user("msg_a", "go"), b.started("run_a"), b.finished(1, ("a1", "look")))
    log.add("run_a", b.called("a1"), b.returned("a1", "1"), b.injected("left"))
    log.add("run_a", b.finished(2, *((f"a{n}", "look") for n in (2, 3, 4))))
    log.add("run_a", *(b.called(f"a{n}", number=2) for n in (2, 3, 4)))
    return log.add("run_a", b.returned("a3", outcome="denied"), cut("a2"), cut("a4"), FAILED)


CARRIED: list[Entry] = [
    ("user", "before", ""), ("assistant", "0", ""), ("user", "go", ""),
    ("assistant", "a1", ""), ("tool", "a1", "ok"), ("user", "left", ""),
    ("assistant", "a2 a3 a4", ""), ("tool", "a2", "cancelled"), ("tool", "a3", "denied"),
    ("tool", "a4", "cancelled"),
]  # fmt: skip


def test_a_retry_from_the_checkpoint_goes_on_with_its_predecessor_s_rounds() -> None:
    """As its own messages; calls that were cut short are done anew where they were asked for."""
    log = failed_attempt()
    assert to_be_redone(log, "run_a") == (redone("a2"), redone("a4"))
    log.add("run_b", again("run_b", "run_a"), redone("a2"), redone("a4"))
    said = conversation(log, run_id="run_b")
    assert read(said) == CARRIED
    assert {m.run_id for m in said[2:]} == {"run_b"}
    assert [m.text for m in said if m.outcome == "cancelled"] == [INTERRUPTED] * 2

    log.add("run_b", b.returned("a4", "4"), b.returned("a2", "2"), b.injected("right"))
    log.add("run_b", b.finished(1), b.said(1, "done", final=True))
    said = conversation(log, run_id="run_b")
    assert [m.text for m in said if m.role == "tool"] == ["1", "2", "seen", "4"]
    assert read(said)[-2:] == [("user", "right", ""), ("assistant", "done", "")]
    assert [m.round for m in said if m.role == "assistant"] == [1, None, None, 1]
    log.add("run_b", COMPLETED)
    assert read(conversation(log)) == read(said), "the user's words once, no half call"


def test_opaque_records_are_the_retry_s_own_rounds_alone() -> None:
    """A number that an attempt before has used too is not taken for it."""
    mine = Opaque(provider="scripted", writer="1", data={"reasoning": "sealed"})
    log = failed_attempt().add("run_b", again("run_b", "run_a"), b.finished(1), b.said(1, "done"))
    said = conversation(log, run_id="run_b", opaque={1: mine})
    assert [m.opaque for m in said if m.role == "assistant"] == [None, None, None, mine]


def test_a_chain_of_retries_redoes_only_what_is_still_without_a_result() -> None:
    log = failed_attempt().add("run_b", again("run_b", "run_a"), redone("a2"), redone("a4"))
    log.add("run_b", b.returned("a2", "2"), cut("a4"), FAILED)
    assert to_be_redone(log, "run_b") == (redone("a4"),)
    log.add("run_c", again("run_c", "run_b"), redone("a4"), b.returned("a4", outcome="unknown"))
    log.add("run_c", b.finished(1, ("c1", "look")), b.called("c1"), cut("c1"), FAILED)
    assert to_be_redone(log, "run_c") == (redone("c1"),)
    outcomes = {m.tool_call_id: m.outcome for m in conversation(log) if m.role == "tool"}
    assert outcomes == {"a1": "ok", "a2": "ok", "a3": "denied", "a4": "unknown", "c1": "cancelled"}


def test_a_retry_that_ended_before_it_began_leaves_everything_to_be_redone() -> None:
    log = failed_attempt().add("run_b", again("run_b", "run_a"), b.cancelled())
    assert to_be_redone(log, "run_b") == (redone("a2"), redone("a4"))


def test_a_retry_from_the_start_begins_anew_and_so_does_what_goes_on_from_it() -> None:
    log = failed_attempt().add("run_b", again("run_b", "run_a", "start"))
    assert read(conversation(log, run_id="run_b")) == CARRIED[:3]
    log.add("run_b", b.finished(1, ("b1", "look")), b.called("b1"), b.returned("b1"), FAILED)
    assert to_be_redone(log, "run_b") == ()
    log.add("run_c", again("run_c", "run_b"))
    assert read(conversation(log, run_id="run_c"))[3:] == [
        ("assistant", "b1", ""), ("tool", "b1", "ok")
    ]  # fmt: skip


def test_results_that_a_reopened_run_went_on_with_stand() -> None:
    log = failed_attempt().add("run_a", e.RunReopened(execution_id="execution-2"), b.finished(3))
    log.add("run_a", b.said(3, "well"), FAILED)
    assert to_be_redone(log, "run_a") == ()
    log.add("run_b", again("run_b", "run_a"))
    assert [m.text for m in conversation(log, run_id="run_b")].count("cut short") == 2


def test_a_run_without_rounds_or_unknown_has_nothing_to_be_redone() -> None:
    log = b.Log().add("run_a", b.user("msg_a", "go"), b.started("run_a"), FAILED)
    assert to_be_redone(log, "run_a") == to_be_redone(log, "run_x") == ()


@dataclass
class Live:
    """A turn performed attempt by attempt: its log, and what its model was last sent."""

    data: st.DataObject
    log: b.Log = field(default_factory=b.Log)
    said: list[list[Entry]] = field(default_factory=lambda: [[("user", "go", "")]])
    """Groups: a user's words, or a round with its results."""
    words: int = 0

    def chance(self) -> bool:
        return self.data.draw(st.booleans())

    def inject(self, run_id: str) -> None:
        if self.chance():
            self.words += 1
            self.log.add(run_id, b.injected(f"words {self.words}"))
            self.said.append([("user", f"words {self.words}", "")])

    def results(self, run_id: str, group: list[Entry], ids: list[str], *, last: bool) -> None:
        """Results in any order; each may be cancelled only when the attempt ends here."""
        outcomes = ["ok", "error", "denied", "unknown", *(["cancelled"] if last else [])]
        for call_id in self.data.draw(st.permutations(ids)):
            outcome = cast("Outcome", self.data.draw(st.sampled_from(outcomes)))
            self.log.add(run_id, b.returned(call_id, outcome=outcome))
            group[[entry[1] for entry in group].index(call_id, 1)] = ("tool", call_id, outcome)
            self.inject(run_id)

    def attempt(self, number: int, start: RetryFrom) -> None:
        run_id = f"run_{number}"
        if number == 0:
            self.log.add(run_id, b.user("msg_0", "go"), b.started(run_id))
        else:
            self.log.add(run_id, again(run_id, f"run_{number - 1}", start))
        if number and start == "start":
            del self.said[1:]
        rounds = self.data.draw(st.integers(0, 3))
        groups = [group for group in self.said if group[0][0] == "assistant"]
        ids = [name for _, name, outcome in groups[-1] if outcome == "cancelled"] if groups else []
        self.log.add(run_id, *(redone(call_id) for call_id in ids))
        if ids:
            self.results(run_id, groups[-1], ids, last=rounds == 0)
        for n in range(1, rounds + 1):
            self.inject(run_id)
            self.round(run_id, n, last=n == rounds)

    def round(self, run_id: str, number: int, *, last: bool) -> None:
        ids = [f"{run_id}.{number}.{i}" for i in range(self.data.draw(st.integers(0, 3)))]
        self.log.add(run_id, b.finished(number, *((i, "look") for i in ids)))
        self.log.add(run_id, b.said(number, f"{run_id} says {number}"))
        self.log.add(run_id, *(b.called(i, number=number) for i in ids))
        said = " ".join(ids) or f"{run_id} says {number}"
        self.said.append([("assistant", said, ""), *(("tool", i, "cancelled") for i in ids)])
        self.results(run_id, self.said[-1], ids, last=last)


@given(st.data())
def test_the_log_says_what_the_live_conversation_was(data: st.DataObject) -> None:
    """Behaviours 29 and 35: whatever was denied, cut short, steered and retried from anywhere.

    Every call has exactly one result, after its round and in call order; the user's words are
    there once.
    """
    live = Live(data)
    attempts = data.draw(st.lists(st.sampled_from(["checkpoint", "start"]), min_size=1, max_size=4))
    for number, start in enumerate(attempts):
        live.attempt(number, cast("RetryFrom", start))
        expected = [entry for group in live.said for entry in group]
        assert read(conversation(live.log, run_id=f"run_{number}")) == expected
        live.log.add(f"run_{number}", FAILED)
        assert read(conversation(live.log)) == expected
