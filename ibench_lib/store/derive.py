"""Tables that are worked out from others when a run is sealed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ibench_lib.schema import OPS, RESPONSE_TIMES

_BATCH_ROWS = 65_536

Numbers = np.ndarray[Any, np.dtype[Any]]


def response_times(ops: pa.Table) -> pa.Table:
    """Table `response_times` of the rows of `ops`: all seconds of each worker, operation and timing together.

    A worker without an answer has a row with empty lists; one that is not paced has none with timing `intended`. One
    that has not recorded the bins of all its seconds has a row without any: those of a part would pass for all. Bins
    are summed batch by batch, so that memory follows the number of workers, not of seconds.
    """
    groups, firsts = _groups(ops)
    sums = [
        _rolled_up(ops, timing, groups, firsts)
        for timing in ("intended", "service")
        if timing == "service" or ops.column(f"{timing}_bins").null_count < ops.num_rows
    ]
    rows = pa.concat_tables([RESPONSE_TIMES.arrow_schema.empty_table(), *sums])
    return rows.sort_by([(name, "ascending") for name in RESPONSE_TIMES.key])


def _groups(ops: pa.Table) -> tuple[Numbers, Numbers]:
    """(group of each row, first row of each group): a group is what the key of `ops` says without the second."""
    code = np.zeros(ops.num_rows, np.int64)
    for name in OPS.key[:-1]:
        _, values = np.unique(_values(ops.column(name).combine_chunks()), return_inverse=True)
        code = np.unique(code, return_inverse=True)[1] * (values.max(initial=0) + 1) + values
    _, firsts, groups = np.unique(code, return_index=True, return_inverse=True)
    return groups, firsts


def _values(column: pa.Array) -> Numbers:
    if pa.types.is_string(column.type):
        column = column.dictionary_encode().indices
    values: Numbers = column.to_numpy(zero_copy_only=False)
    return values


def _rolled_up(ops: pa.Table, timing: str, groups: Numbers, firsts: Numbers) -> pa.Table:
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    names = [f"{timing}_bins", f"{timing}_counts", f"{timing}_max_us"]
    timed, partly = np.zeros(len(firsts), bool), np.zeros(len(firsts), bool)
    largest = np.full(len(firsts), np.nan)
    # int64 holds what float64, the type of bincount's weights, would round.
    counts = np.zeros((len(firsts), _bins(ops.column(names[0]))), np.int64)
    start = 0
    for batch in ops.select(names).to_batches(max_chunksize=_BATCH_ROWS):
        here = groups[start : start + batch.num_rows]
        start += batch.num_rows
        bins, answers, max_us = batch.columns
        binned = bins.is_valid().to_numpy(zero_copy_only=False)
        timed[here[binned]] = True
        partly[here[~binned]] = True
        np.fmax.at(largest, here, max_us.to_numpy(zero_copy_only=False))
        lengths = pc.fill_null(pc.list_value_length(bins), 0).to_numpy(zero_copy_only=False)
        flat = np.repeat(here, lengths) * counts.shape[1] + bins.flatten().to_numpy()
        weights = answers.flatten().to_numpy()
        counts += np.bincount(flat, weights, counts.size).astype(np.int64).reshape(counts.shape)
    keep = np.arange(len(firsts)) if timing == "service" else np.flatnonzero(timed)
    missing = partly[keep] if timing == "service" else np.zeros(len(keep), bool)
    counts, rows = counts[keep], ops.take(pa.array(firsts[keep]))
    counts[missing] = 0
    row, used = np.nonzero(counts)
    offsets = pa.array(np.searchsorted(row, np.arange(len(keep) + 1)), pa.int32())
    unknown = pa.array(missing)
    max_us = largest[keep]
    columns = {
        **{name: rows.column(name) for name in ("run_id", "step_id", "step", "client", "worker", "operation")},
        "timing": pa.array([timing] * len(keep), pa.string()),
        "responses": pa.array(counts.sum(axis=1), pa.int64(), mask=missing),
        "max_us": pa.array(max_us, mask=np.isnan(max_us)),
        "bins": pa.ListArray.from_arrays(offsets, pa.array(used, pa.uint16()), mask=unknown),
        "counts": pa.ListArray.from_arrays(offsets, pa.array(counts[row, used], pa.uint64()), mask=unknown),
    }
    return pa.table(columns).cast(RESPONSE_TIMES.arrow_schema)


def _bins(column: pa.ChunkedArray) -> int:
    """One more than the highest bin."""
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    highest = [pc.max(chunk.flatten()).as_py() for chunk in column.chunks]
    return 1 + max((number for number in highest if number is not None), default=0)
