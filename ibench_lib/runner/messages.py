"""What client processes may say: a message of another form is refused before anything of it is stored or counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from ibench_lib.schema import TABLES

_MOST = 2**63 - 1
_OF_THE_RUNNER = {"run_id", "step_id", "step", "client", "worker"}
"""Columns of a row of `ops` that the runner fills in."""

Count = Annotated[int, Field(ge=0, le=_MOST)]
Time = Annotated[float, Field(allow_inf_nan=False)]
Limit = Annotated[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], str], Field(strict=False)]
Outcome = Annotated[tuple[Annotated[int, Field(ge=0, le=2**15 - 1)], str, str, Count], Field(strict=False)]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Probe(_Form):
    name: str
    sent_ns: Count
    seconds: Time
    result: Annotated[int, Field(ge=-_MOST, le=_MOST)] | None


class _Totals(BaseModel):
    model_config = ConfigDict(strict=True)

    status: str
    error: str | None
    end_ns: Count
    ops: Count
    rows: Count | None
    errors: Count | None
    retries: Count | None
    unknown: Count | None
    cpu_user_s: Time
    cpu_system_s: Time
    client_lag_p99_us: Time | None
    service_p50_us: Time | None
    unrecorded_s: Time | None
    rows_by_table: dict[str, Annotated[int, Field(ge=-_MOST, le=_MOST)]]
    outcomes: list[Outcome]
    limits: list[Limit] = []
    ops_from: str | None = None
    warnings: list[str] = []
    null_reasons: dict[str, str] = {}


def _form_of(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return list[_form_of(kind.value_type)]  # type: ignore[misc]
    if pa.types.is_floating(kind):
        return Time
    if pa.types.is_integer(kind):
        bits = kind.bit_width - pa.types.is_signed_integer(kind)
        return Annotated[int, Field(ge=0, le=2**bits - 1)]
    return str


def _row() -> type[_Form]:
    table, fields = TABLES["ops"], {}
    for column in table.columns:
        if column.name not in _OF_THE_RUNNER:
            form = _form_of(column.type)
            kind = form | None if column.nullable else form
            fields[column.name] = (kind, None if column.nullable and not column.null_since else ...)
    return create_model("_Row", __base__=_Form, **fields)  # type: ignore[call-overload, no-any-return]


class _Second(_Form):
    kind: Literal["second"]
    row: _row()  # type: ignore[valid-type]


class _Reached(_Form):
    kind: Literal["ready", "made"]


class _Probed(_Form):
    kind: Literal["probed"]
    probes: list[_Probe]


class _Done(_Form):
    kind: Literal["done"]
    totals: _Totals
    probes: list[_Probe]


class _Failed(_Form):
    kind: Literal["failed"]
    error: str


_MESSAGE: TypeAdapter[Any] = TypeAdapter(
    Annotated[_Second | _Reached | _Probed | _Done | _Failed, Field(discriminator="kind")]
)


def problem_of(message: Mapping[str, Any], operations: Mapping[str, Any]) -> str | None:
    """What is odd about a message of a worker whose workload has these operations; None if nothing is."""
    try:
        validated = _MESSAGE.validate_python(message)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "kind"
        return f"it sent a message that is odd: {where:.80}: {first['msg']:.200}"
    if isinstance(validated, _Second) and message["row"]["operation"] not in operations:
        return f"it sent a message that is odd: there is no operation {message['row']['operation']!r:.80}"
    return None
