"""The SQL that families of servers add to: causes of dips, their rules, and what is measured for these."""

from __future__ import annotations

from ibench_lib.paths import family_folders, flavours_of_families
from ibench_lib.store.index import quoted

_CAUSES = """\
-- The causes that a dip may be attributed to. `layer`: an origin can cause a mechanism: slow storage, for
-- instance, makes threads wait for free pages. Both can cause a symptom: transactions that wait for anything hold
-- their row locks for longer. A neighbour can cause all of these: who has no CPU takes long to see that a request
-- is complete. `label` is its name in charts, `words` follow "because", `look_at` says what to check. `family` has
-- the family of servers whose dips may have the cause; NULL for all. No two families give a cause the same name.
"""

_RULES = """\
-- The rules that assign causes to dips: one row per piece of evidence. `points`: 3 for what is decisive, 2 for
-- what is strong, -2 for what contradicts. `measure` is one of `dip_measures`, `statistic` its mean, still mean,
-- max or min in the dip. `test` says what is held against `threshold`: the statistic itself (at least, at most),
-- or the statistic divided by the mean outside of all dips (times, falls to); then the difference must also be at
-- least `least`, and the statistic outside of the range of 95 % of the samples outside. `rises to`: the statistic
-- itself is at least `threshold`, and more than the mean outside by `least`; outside it may be as high at times.
-- `says`: what it means when it holds. Evidence whose measure is NULL, because this server or host does not give
-- it, is unknown. `family` has the family of servers to whose runs the rule applies; NULL for all.
"""

_SAMPLES = """\
-- What families of servers measure of dips, next to `dip_measures`: a row per sample of a step that has dips, with a
-- column per measure, named <source>.<series>. `t_s` is its time in the step, `span_s` how many seconds before it are
-- meant. A family has its own in a macro <family>_dip_samples.
--
-- $ids: ids of runs
-- $dipped: name of a table of `dip_measures` with the steps that have dips
"""

_CACHES = """\
-- The memory that each run's server keeps its tables in: `cache` is what the server calls it, `bytes` its size as the
-- server told it; NULL or no row where it did not. A family has its own in a view <family>_caches.
"""

_ASKED_OF_NOTHING = """
UNION ALL
-- What the server does cannot be the reason where nothing was asked of it.
SELECT
    cause, -2, 'states.at_work', 'mean', 'falls to', 0.2, 0.5, 'hardly a connection was at work in the server', family
FROM dip_causes WHERE cause NOT IN ('restart', 'client_pause', 'machine_paused')
"""


def server_families() -> str:
    """The view of that name."""
    flavours = [f"({quoted(flavour)}, {quoted(family)})" for flavour, family in flavours_of_families().items()]
    rows = f"SELECT * FROM (VALUES {', '.join(flavours)}) families(flavour, family)"
    return f"-- The family of servers that each flavour belongs to.\n{rows}\n"


def dip_causes(there: set[str]) -> str:
    """The view of that name. `there` has the names of all SQL that lies in files."""
    return f"{_CAUSES}{_united('dip_causes', there)}\n"


def dip_rules(there: set[str]) -> str:
    """The view of that name."""
    return f"{_RULES}{_united('dip_rules', there)}{_ASKED_OF_NOTHING}"


def server_caches(there: set[str]) -> str:
    """The view of that name."""
    none = "SELECT run_id, NULL::VARCHAR AS cache, NULL::BIGINT AS bytes FROM runs WHERE false"
    own = [f"SELECT run_id, cache, bytes FROM {name}" for name in _own("caches", there).values()]
    return _CACHES + "\nUNION ALL\n".join([none, *own]) + "\n"


def family_dip_samples(there: set[str]) -> str:
    """The macro of that name."""
    # Typed and empty, so that there is something to unite with when no family has its own.
    none = (
        'SELECT run_id, step_id, NULL::DOUBLE AS t_s, NULL::DOUBLE AS span_s, NULL::DOUBLE AS "family.none"\n'
        "FROM query_table($dipped) WHERE len($ids::VARCHAR[]) < 0"
    )
    own = [f"FROM {name}($ids, $dipped)" for name in _own("dip_samples", there).values()]
    return _SAMPLES + "\nUNION ALL BY NAME\n".join([none, *own]) + "\n"


def _united(what: str, there: set[str]) -> str:
    of_all = f"SELECT *, NULL::VARCHAR AS family FROM any_{what}"
    own = [f"SELECT *, {quoted(family)} AS family FROM {name}" for family, name in _own(what, there).items()]
    return "\nUNION ALL\n".join([of_all, *own])


def _own(what: str, there: set[str]) -> dict[str, str]:
    """Family -> the name of its SQL `<family>_<what>`, of those that have it."""
    names = {family: f"{family}_{what}" for family in sorted(family_folders("results/sql"))}
    return {family: name for family, name in names.items() if name in there}
