"""Evidence a case was given, and what each event may be cited for."""

from __future__ import annotations

from attrs import frozen

from harness_core.vocabulary import (
    AccessScope,
    AuthorityDomain,
    EventType,
    Provenance,
    ResultStatus,
    SourceRole,
)


@frozen(kw_only=True)
class Evidence:
    """A described source.  ``source_role`` and ``access_scope`` belong to external sources alone."""

    summary: str
    source_ref: str
    authority_domain: AuthorityDomain
    source_role: SourceRole | None = None
    access_scope: AccessScope | None = None
    locator: str | None = None
    limitation: str | None = None


@frozen(kw_only=True)
class Citation:
    """What a claim gets by citing one event.

    ``execution_status`` is None for evidence that no execution produced; ``linked`` is false where an exposure does not
    lead back to an observation of its own probe, and ``supersedes`` is the event it leads back to.
    """

    event_id: str
    type: EventType
    authority_domain: AuthorityDomain
    source_role: SourceRole | None = None
    access_scope: AccessScope | None = None
    limitation: str | None = None
    probe_id: str | None = None
    tool_name: str | None = None
    execution_status: ResultStatus | None = None
    display_status: ResultStatus | None = None
    provenance: Provenance | None = None
    linked: bool = True
    supersedes: str | None = None
    discarded: bool = False
