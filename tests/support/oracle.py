"""What must hold of any database, whatever was done to it: DESIGN.md, "The crash matrix"."""

# ruff: noqa: S608  (what is put into the queries are our own constants)

from sqlalchemy import create_engine, text

from turnwright.domain.events import ENDINGS
from turnwright.domain.run import ACTIVE
from turnwright.settings import sqlalchemy_url

_ACTIVE = ", ".join(f"'{status}'" for status in ACTIVE)
_TERMINAL = ", ".join(f"'{ending.type}'" for ending in ENDINGS.values())
_STATUSES = " ".join(f"when '{e.type}' then '{status}'" for status, e in ENDINGS.items())

QUERIES = {
    "a session's sequences start at 1 and have no gap": """
        select session_id from events
        group by session_id having count(*) <> max(sequence) or min(sequence) <> 1
    """,
    "a session's last sequence is its log's": """
        select s.id from sessions s where last_sequence <>
            (select coalesce(max(sequence), 0) from events e where e.session_id = s.id)
    """,
    "a session has one active root run at most": f"""
        select session_id from runs
        where parent_run_id is null and status in ({_ACTIVE})
        group by session_id having count(*) > 1
    """,
    "a run ends once, and once more for each time it was reopened": f"""
        select run_id from events where type in ({_TERMINAL}) or type = 'run.reopened'
        group by run_id
        having sum(case when type in ({_TERMINAL}) then 1 else 0 end) > 1 +
            sum(case when type = 'run.reopened' then 1 else 0 end)
    """,
    "a row and its run's terminal event agree, and the terminal event is the run's last": f"""
        select r.id from runs r left join events e
            on e.session_id = r.session_id and e.run_id = r.id and e.sequence =
                (select max(sequence) from events l where l.run_id = r.id)
        where (r.status not in ({_ACTIVE}) or e.type in ({_TERMINAL}))
            and r.status <> coalesce(case e.type {_STATUSES} end, '')
    """,
    "a call has one result at most": """
        select run_id from events where type in ('tool.called', 'tool.returned')
        group by run_id
        having sum(case when type = 'tool.returned' then 1 else 0 end) >
            sum(case when type = 'tool.called' then 1 else 0 end)
    """,
    "a queue waits behind an active run": f"""
        select i.id from inbox i where i.kind = 'queued' and not exists (
            select 1 from runs r where r.session_id = i.session_id
                and r.parent_run_id is null and r.status in ({_ACTIVE}))
    """,
    "what happened to a run is told to watchers, each event once": """
        select run_id, type from events e where type like 'run.%'
        group by run_id, type having count(*) <>
            (select count(*) from run_changes c where c.run_id = e.run_id and c.type = e.type)
    """,
    "nothing accepted is left over by a run that has ended": f"""
        select i.id from inbox i join runs r on r.id = i.run_id
        where r.status not in ({_ACTIVE})
    """,
}


def check_oracle(database_url: str) -> None:
    """Assert that nothing is wrong in the database."""
    engine = create_engine(sqlalchemy_url(database_url))
    try:
        with engine.connect() as connection:
            wrong = {
                claim: rows
                for claim, query in QUERIES.items()
                if (rows := connection.execute(text(query)).all())
            }
    finally:
        engine.dispose()
    assert not wrong, f"not so: {wrong}"
