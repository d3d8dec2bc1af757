"""The converter that reads a tool's arguments: the harness's own text types, and every fault with its path.

cattrs does the walking and collects what the hooks raise; ``faults_of`` turns the collection into ``Fault`` values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from types import SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
from cattrs import Converter, ForbiddenExtraKeysError, IterableValidationError
from cattrs.errors import AttributeValidationNote, BaseValidationError, ClassValidationError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, override

from harness_core.authority import LIMITED_SCOPES
from harness_core.commands import (
    LIST_LIMIT_MAX,
    CaseId,
    Commit,
    EventId,
    EvidenceDraft,
    InitialEvidenceDraft,
    ItemId,
    List,
    OutcomeDraft,
    RecordEvidence,
    Revise,
    Show,
    SourceDraft,
    Text,
    ToolName,
    Updates,
)
from harness_core.errors import Fault
from harness_core.vocabulary import AccessScope, AuthorityDomain, SourceRole
from harness_core.wire import canonical_json, make_converter

LARGEST_NUMBER = 2**53  # beyond it JSON numbers stop being exact

Hook = Callable[[Any, Any], Any]

MOST_NESTED = 100  # levels of a probe's arguments: nobody means more, and every level costs stack

# Names a model might send because it sees them in answers, and why they cannot be sent.
SERVER_MANAGED: Mapping[str, str] = {
    "retrieved_prior_lessons": "is server-managed: derived from closed, replay-valid cases",
    "claim_snapshot": "is server-managed: taken from the claim at commit",
    "model_version": "is server-managed: taken from the case at commit",
    "commitment": "is server-managed: made from the arguments",
    "lessons": "is server-managed: derived from closed, replay-valid cases",
    "sources": "is server-managed: read from the cases named",
    "prior_case_ids": "is open-time-only: open a new bounded case to import other lessons",
}
# Spellings that are accepted beside a command's own fields (see ``arguments``), for the text of a refusal.
SPELLINGS: Mapping[type, tuple[str, ...]] = {
    Commit: ("tool_args_json",),
    Revise: tuple(f.name for f in attrs.fields(Updates)),
}
CASE_ID_SHAPE = (
    "lower-case letters, digits and hyphens, beginning with a letter or digit, at most 64, such as cache-hits"
)


class Unfit(ValueError):
    """Raised inside a structure hook: what is wrong, and what to send."""

    def __init__(self, problem: str, send: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.send = send


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)


# --- text ---


def _text(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise Unfit(f"must be text, not {kind_of(value)}", "text")
    if not value.strip():
        raise Unfit("is blank", "text that is not blank")
    if not is_unicode(value):
        raise Unfit("holds half a character (a lone surrogate)", "text that is valid Unicode")
    return value


_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8; a JSON escape of half a character, such as ``\\ud800``, cannot."""
    return text.isascii() or not _HALF_CHARACTER.search(text)


def _item_id(value: Any, _: Any) -> str:
    text = _text(value, _).strip()
    if len(text) > 120 or not text.isprintable():
        raise Unfit("is no usable id", "one line of at most 120 printable characters, such as M1")
    return text


def _tool_name(value: Any, _: Any) -> str:
    text = _text(value, _).strip()
    if len(text) > 120 or not text.isprintable():
        raise Unfit("is no tool's name", "the name as the host knows it, such as read_file")
    return text


def _case_id(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise Unfit(f"must be text, not {kind_of(value)}", CASE_ID_SHAPE)
    if not is_case_id(value):
        raise Unfit("is no usable case id", CASE_ID_SHAPE)
    return value


def is_case_id(text: str) -> bool:
    """Whether the text may name a case, and thereby a folder."""
    return 1 <= len(text) <= 64 and text[0] != "-" and _CASE_ID.issuperset(text)


_CASE_ID = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def _event_id(value: Any, _: Any) -> str:
    text = _text(value, _).strip()
    if text[0] not in "EI" or not (text[1:].isascii() and text[1:].isdecimal()):
        raise Unfit(f"{text[:40]!r} is no event id", "an id such as E000004 (or, at open, I1)")
    return text


def _word(value: Any, kind: type[StrEnum]) -> StrEnum:
    try:
        return kind(value.strip().lower() if isinstance(value, str) else value)
    except ValueError:
        allowed = ", ".join(member.value for member in kind)
        raise Unfit(f"{json.dumps(value, default=str)[:80]} is not allowed", f"one of {allowed}") from None


def _exactly(kind: type, name: str) -> Hook:
    def hook(value: Any, _: Any) -> Any:
        if type(value) is not kind:
            raise Unfit(f"must be {name}, not {kind_of(value)}", name)
        return value

    return hook


def _whole_number(value: Any, _: Any) -> int:
    number: int = _exactly(int, "a whole number")(value, _)
    if abs(number) > LARGEST_NUMBER:
        raise Unfit("is too large", f"a whole number up to {LARGEST_NUMBER}")
    return number


def _object(value: Any, _: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unfit(f"must be an object, not {kind_of(value)}", "a JSON object of the tool's arguments")
    if _deeper_than(MOST_NESTED, value):
        raise Unfit(f"is nested more than {MOST_NESTED} deep", "a flatter JSON object")
    try:
        text = canonical_json(value)
    except (TypeError, ValueError):
        raise Unfit("holds no JSON value, or a number that is not finite", "a JSON object") from None
    if not is_unicode(text):
        raise Unfit("holds half a character (a lone surrogate)", "a JSON object of valid Unicode")
    return dict(value)


def _deeper_than(levels: int, value: Any) -> bool:
    row = [value]
    for _ in range(levels):
        row = [
            item
            for outer in row
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return any(isinstance(item, dict | list) for item in row)


# --- lists, options and objects ---


def _list_of(converter: Converter, kind: Any) -> Hook:
    inner = get_args(kind)[0]

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list):
            raise Unfit(f"must be a list, not {kind_of(value)}", "a JSON array")
        errors: list[Exception] = []
        found = []
        for number, item in enumerate(value):
            try:
                found.append(converter.structure(item, inner))
            except (Unfit, BaseValidationError) as error:
                errors.append(_noted(error, IterableValidationNote(f"item {number}", number, inner)))
        if errors:
            raise IterableValidationError("items", errors, kind)
        return tuple(found)

    return hook


def _noted(error: Exception, note: str) -> Exception:
    error.add_note(note)
    return error


def _optional(converter: Converter, kind: Any) -> Hook:
    (inner,) = (member for member in get_args(kind) if member is not type(None))

    def hook(value: Any, _: Any) -> Any:
        if value is None:
            raise Unfit("is null", "a value, or leave it out")
        return converter.structure(value, inner)

    return hook


def _fields_of(converter: Converter, cls: Any) -> Hook:
    server: dict[str, Any] = {f.name: override(omit=True) for f in attrs.fields(cls) if f.metadata.get("server")}
    plain: Hook = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True, **server)
    check = CHECKS.get(cls)

    def hook(value: Any, kind: Any) -> Any:
        if cls is OutcomeDraft and isinstance(value, str):
            value = {"outcome": value}
        if not isinstance(value, Mapping):
            needed = ", ".join(f.name for f in attrs.fields(cls) if f.default is attrs.NOTHING)
            raise Unfit(f"must be an object, not {kind_of(value)}", f"an object with {needed}")
        made, errors = None, []
        try:
            made = plain(value, kind)
        except ClassValidationError as error:
            errors = list(error.exceptions)
        told = {_extended("", error) for error in errors}
        found = check(_sound_part(converter, cls, value) if made is None else made) if check else ()
        errors += [
            _noted(Unfit(problem, send), AttributeValidationNote(name, name, str))
            for name, problem, send in found
            if name not in told
        ]
        if errors:
            raise ClassValidationError(cls.__name__, errors, cls)
        return made

    return hook


def _sound_part(converter: Converter, cls: Any, value: Mapping[str, Any]) -> Any:
    """What is sound of an object, by field; None stands for what is missing or at fault."""
    part = dict.fromkeys(get_type_hints(cls))
    for name, kind in get_type_hints(cls).items():
        with suppress(Unfit, BaseValidationError):
            part[name] = converter.structure(value[name], kind) if name in value else None
    return SimpleNamespace(**part)


# --- rules that span the fields of one object: (field, problem, what to send); None stands for a field at fault ---

Found = list[tuple[str, str, str]]


def _external(draft: SourceDraft) -> Found:
    """What is recorded without a probe is an external source: the rest has to be observed, or said by the user."""
    if draft.authority_domain in (AuthorityDomain.EXTERNAL_SOURCE, None):
        return _source(draft)
    problem = f"{draft.authority_domain.value} is not recorded by hand: commit a probe for it, clarify for the user's"
    return [("authority_domain", problem, AuthorityDomain.EXTERNAL_SOURCE.value)]


def _source(draft: SourceDraft | EvidenceDraft) -> Found:
    """External sources say what they are and how much was inspected; limited access says what it leaves open."""
    if draft.authority_domain is not AuthorityDomain.EXTERNAL_SOURCE:
        return []
    found: Found = []
    words: dict[str, type[StrEnum]] = {"source_role": SourceRole, "access_scope": AccessScope}
    for name, kind in words.items():
        if getattr(draft, name) is None:
            send = "one of " + ", ".join(word.value for word in kind)
            found.append((name, "is missing: an external source states it", send))
    if draft.access_scope in LIMITED_SCOPES and draft.limitation is None:
        problem = f"is missing: {draft.access_scope} access requires an explicit limitation"
        found.append(("limitation", problem, "what was not seen"))
    return found


def _limit(request: List) -> Found:
    if request.limit is None or 1 <= request.limit <= LIST_LIMIT_MAX:
        return []
    return [("limit", f"the list limit {request.limit} is out of range", f"a whole number from 1 to {LIST_LIMIT_MAX}")]


def _as_of(request: Show) -> Found:
    if request.as_of is None or request.as_of >= 1:
        return []
    return [("as_of", "is no number of events", "a whole number from 1")]


def _some_evidence(request: RecordEvidence) -> Found:
    return [("evidence", "is empty", "at least one evidence object")] if request.evidence == () else []


def _some_outcome(request: Commit) -> Found:
    empty = request.predicted_outcomes == ()
    return [("predicted_outcomes", "is empty", "at least one predicted outcome")] if empty else []


def _temporary_id(draft: InitialEvidenceDraft) -> Found:
    found = _source(draft)
    fits = draft.id is None or draft.id.startswith("I")
    return found if fits else [("id", f"{draft.id} is no temporary id", "I1, I2, ..."), *found]


CHECKS: Mapping[type, Callable[[Any], Found]] = {
    SourceDraft: _external,
    EvidenceDraft: _source,
    InitialEvidenceDraft: _temporary_id,
    List: _limit,
    Show: _as_of,
    RecordEvidence: _some_evidence,
    Commit: _some_outcome,
}


def _is_object(kind: Any) -> bool:
    return get_origin(kind) is Mapping


def _is_list(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is tuple


def _is_optional(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin in (Union, UnionType) and type(None) in get_args(kind)


PLAIN: Mapping[Any, Hook] = {
    Text: _text,
    ItemId: _item_id,
    CaseId: _case_id,
    EventId: _event_id,
    ToolName: _tool_name,
    str: _exactly(str, "text"),
    int: _whole_number,
    bool: _exactly(bool, "true or false"),
}


def _converter() -> Converter:
    made = make_converter(detailed=True)
    for kind, hook in PLAIN.items():
        made.register_structure_hook(kind, hook)
    made.register_structure_hook(StrEnum, _word)
    made.register_structure_hook_func(_is_object, _object)
    made.register_structure_hook_factory(_is_list, lambda kind: _list_of(made, kind))
    made.register_structure_hook_factory(_is_optional, lambda kind: _optional(made, kind))
    made.register_structure_hook_factory(attrs.has, lambda kind: _fields_of(made, kind))
    return made


CONVERTER = _converter()


# --- from what cattrs collected to faults ---


def faults_of(error: BaseException, kind: Any, path: str = "") -> list[Fault]:
    """Every fault in a structuring error, in the order of the fields."""
    if isinstance(error, BaseValidationError):
        return [fault for inner in error.exceptions for fault in faults_of(inner, error.cl, _extended(path, inner))]
    if isinstance(error, ForbiddenExtraKeysError):
        return [_unknown(path, str(name), error.cl) for name in sorted(map(str, error.extra_fields))]
    if isinstance(error, Unfit):
        return [Fault(path, error.problem, error.send)]
    if isinstance(error, KeyError):
        return [Fault(path, "is missing", _wanted(kind, path))]
    raise error  # no hook raises anything else; what comes here is a bug


def _extended(path: str, error: BaseException) -> str:
    """The path, and the step from there that cattrs noted on the error; none where the object itself is at fault."""
    notes = getattr(error, "__notes__", ())
    names = [f".{note.name}" for note in notes if isinstance(note, AttributeValidationNote)]
    numbers = [f"[{note.index}]" for note in notes if isinstance(note, IterableValidationNote)]
    return "".join([path, *names, *numbers]).removeprefix(".")


def _unknown(path: str, name: str, cls: Any) -> Fault:
    name = "".join(char if char.isprintable() else "?" for char in name[:80])
    where = f"{path}.{name}" if path else name
    if name in SERVER_MANAGED:
        return Fault(where, SERVER_MANAGED[name], "nothing here")
    allowed = [f.name for f in attrs.fields(cls) if not f.metadata.get("server")]
    return Fault(where, "is an unknown field", "only " + ", ".join([*allowed, *SPELLINGS.get(cls, ())]))


def _wanted(cls: Any, path: str) -> str:
    """What to send for a field that is missing: what it says, and its words where it has a closed vocabulary."""
    name = path.rsplit(".", 1)[-1]
    doc = str(attrs.fields_dict(cls)[name].metadata.get("doc", "a value for it"))
    kind = get_type_hints(cls)[name]
    words = ", ".join(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ""
    return f"one of {words}: {doc}" if words else doc
