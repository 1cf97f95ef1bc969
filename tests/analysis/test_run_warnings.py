"""Kinds of warnings."""

import polars as pl

from ibench_lib.analysis.run_warnings import kinds_of_warnings, runs_warned


def runs_of(*warnings: tuple[str, list[str] | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"run_id": f"r{n}", "dbms": dbms, "warnings": texts} for n, (dbms, texts) in enumerate(warnings)],
        schema={"run_id": pl.String, "dbms": pl.String, "warnings": pl.List(pl.String)},
    )


def test_warnings_that_differ_in_their_numbers_are_one_kind() -> None:
    runs = runs_of(("a", ["python (7) takes 93 % of a core"]), ("a", ["python (9) takes 1.5 % of a core", "no perf"]),
                   ("b", None), ("b", []))  # fmt: skip
    cpu, perf = kinds_of_warnings(runs)
    assert str(cpu) == "python (7) takes 93 % of a core, and 1 more of this kind (a; 2 of 4 runs)"
    assert cpu.found == [("python (7) takes 93 % of a core", "a"), ("python (9) takes 1.5 % of a core", "a")]
    assert str(perf) == "no perf (a; 1 of 4 runs)"
    assert runs_warned(runs) == 2
    assert [(kind.subject, kind.runs) for kind in (cpu, perf)] == [(cpu.texts[0], 2), ("no perf", 1)]


def test_the_subject_of_a_warning_is_an_option_or_a_busy_host() -> None:
    warnings = ["pool: asked 8 (a.cnf:3), the server uses 1", "t1: the hypervisor kept 12 % of the CPUs"]
    assert [kind.subject for kind in kinds_of_warnings(runs_of(("a", warnings)))] == [
        "pool differs from the option file",
        "a busy host",
    ]


def test_warnings_of_steps_whose_names_differ_in_digits_are_kinds_of_their_own() -> None:
    """t1 and t16, l.i1 and l.i2; their figures are numbers all the same."""
    texts = [
        f"{step}: other processes used {share} % of the CPUs"
        for step in ("t1", "t16", "l.i1", "l.i2")
        for share in (12, 1.5)
    ]
    kinds = kinds_of_warnings(runs_of(("a", texts)))
    assert [kind.texts for kind in kinds] == [texts[:2], texts[2:4], texts[4:6], texts[6:]]
    assert str(kinds[0]) == "t1: other processes used 12 % of the CPUs, and 1 more of this kind (a)"


def test_a_warning_of_the_only_run_counts_no_runs() -> None:
    assert [str(kind) for kind in kinds_of_warnings(runs_of(("a", ["no perf"])))] == ["no perf (a)"]
    assert kinds_of_warnings(runs_of(("a", []))) == []
