"""A value of a YAML file that may be written in more than one form: a word, a list or a mapping."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class _ByForm:
    """Chooses the member of a union by the form of the value, so that an error describes the form the user wrote.

    Without it pydantic tries every member and reports the errors of each.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members = {_form_of_type(member): member for member in get_args(source)}
        if len(members) < len(get_args(source)) or not members:
            raise TypeError(f"{source} is no union of different forms")
        other = "mapping" if "mapping" in members else "word"

        def form(value: Any) -> str:
            kind = "word" if isinstance(value, str) else "list" if isinstance(value, list) else "mapping"
            return kind if kind in members else other

        choices = {name: handler.generate_schema(member) for name, member in members.items()}
        return core_schema.tagged_union_schema(choices, form)


def _form_of_type(member: Any) -> str:
    while get_origin(member) is Annotated:
        member = get_args(member)[0]
    if get_origin(member) is list:
        return "list"
    return "mapping" if isinstance(member, type) and issubclass(member, BaseModel) else "word"


BY_FORM = _ByForm()
"""Marks a union whose members differ in form, as in `Annotated[Name | Setup, BY_FORM]`: a word, or a mapping."""
