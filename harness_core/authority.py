"""Which statements a source can vouch for.

Domains fall into two broad classes that never mix: what the user says about themself, and what lies outside.  An
attributed testimony therefore never becomes an external fact, whatever route it takes (seed, "Core invariants").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from harness_core.vocabulary import AccessScope, AuthorityDomain, EventType


class AuthorityClass(StrEnum):
    """The two broad classes."""

    USER = "user"
    EXTERNAL = "external"


CLASS_OF: Mapping[AuthorityDomain, AuthorityClass] = {
    AuthorityDomain.EXTERNAL_SOURCE: AuthorityClass.EXTERNAL,
    AuthorityDomain.SYSTEM_STATE: AuthorityClass.EXTERNAL,
    AuthorityDomain.EMPIRICAL_TEST: AuthorityClass.EXTERNAL,
    AuthorityDomain.USER_PREFERENCE: AuthorityClass.USER,
    AuthorityDomain.USER_INTENT: AuthorityClass.USER,
    AuthorityDomain.PRIVATE_CONTEXT: AuthorityClass.USER,
    AuthorityDomain.USER_DECISION: AuthorityClass.USER,
    AuthorityDomain.USER_TESTIMONY: AuthorityClass.USER,
}
USER_DOMAINS = tuple(d for d in AuthorityDomain if CLASS_OF[d] is AuthorityClass.USER)

# The events a claim may cite.  A dispatch, a pause or a revision says nothing about the world.
CITABLE = frozenset(
    {
        EventType.INITIAL_OBSERVATION,
        EventType.EVIDENCE_RECORDED,
        EventType.PROBE_OBSERVED,
        EventType.PROBE_EXPOSED,
        EventType.PROBE_COMPARED,
    }
)

# Tools that ask the user: what they return is the user speaking, so a probe of theirs takes a user domain and no other.
ASKING_TOOLS = frozenset({"clarify"})
# An immediate handle cannot account for what a delegated worker does later.
DELEGATING_TOOLS = frozenset({"delegate_task"})
OWN_TOOLS = frozenset({"epistemic_model", "epistemic_probe"})
# What these tools return are leads to texts, not the texts (seed, "Closure and transfer").
SEARCH_TOOLS = frozenset({"web_search", "search", "search_web", "x_search", "session_search"})

# Access below which a source must state its limitation, and that counts as a lead and not as support.
LIMITED_SCOPES = frozenset({AccessScope.PARTIAL, AccessScope.ABSTRACT, AccessScope.SNIPPET})
LEAD_SCOPES = frozenset({AccessScope.ABSTRACT, AccessScope.SNIPPET})


def compatible(claimed: AuthorityDomain, cited: Iterable[AuthorityDomain]) -> bool:
    """Whether a statement of the ``claimed`` domain may rest on events of the ``cited`` domains."""
    return all(CLASS_OF[domain] is CLASS_OF[claimed] for domain in cited)


def attributed(declared: AuthorityDomain, nested: AuthorityDomain | None) -> AuthorityDomain:
    """The domain a comparison counts for: a nested user descriptor outweighs a declared external domain."""
    if nested is not None and CLASS_OF[nested] is AuthorityClass.USER:
        return nested
    return declared
