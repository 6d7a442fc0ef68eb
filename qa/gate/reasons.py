"""Every reason code with the end state it belongs to and the sentence that a person reads.

The sentences speak of what the asker can see only: none tells whether something exists that he may not see.
"""

from __future__ import annotations

from qa.memory.trail import EndState, Reason

REASONS: dict[Reason, tuple[EndState, str]] = {
    Reason.ANSWERED: (EndState.ANSWERED, "Every statement stands word for word, or is borne out, at the places that are cited."),
    Reason.TERMS_ABSENT: (
        EndState.NOT_IN_DOCUMENTS,
        "A name, code or year of your question stands on none of the pages that you can read here, and all of them could be searched.",
    ),
    Reason.ALL_PAGES_READ: (EndState.NOT_IN_DOCUMENTS, "Every page that you can read here was read, and none of them says it."),
    Reason.ROUNDS_SPENT: (
        EndState.NOT_FOUND,
        "The most promising pages were read and no passage on them answers the question. It may stand on a page that was not read.",
    ),
    Reason.BUDGET_SPENT: (EndState.NOT_FOUND, "The search reached its limit of time or work before an answer was found."),
    Reason.NOTHING_NEW: (EndState.NOT_FOUND, "Searching again would have led to the same pages; no answer was found on them."),
    Reason.NO_UNSEEN_PAGE: (
        EndState.NOT_FOUND,
        "Every page that the search offered was read, and no passage on them answers the question.",
    ),
    Reason.READER_FAILED: (EndState.NOT_FOUND, "The pages were found, but reading them failed. Asking again later may help."),
    Reason.ABSENCE_UNPROVEN: (
        EndState.NOT_FOUND,
        "Nothing that was read answers the question, but not enough was read to say that it is not in the documents.",
    ),
    Reason.EVIDENCE_CHANGED: (
        EndState.NOT_FOUND,
        "Documents or rights changed twice while the question was worked on, so nothing that was read counts. Please ask again.",
    ),
    Reason.NO_VISIBLE_PAGES: (EndState.NO_READABLE_DOCUMENTS, "There is no document here that you can read."),
    Reason.NO_READABLE_PAGES: (EndState.NO_READABLE_DOCUMENTS, "None of the pages here has text that could be read."),
    Reason.NO_CLAIMS: (EndState.NOT_FOUND, "Reading gave no statement that could be checked against a page."),
    Reason.CITATION_UNVERIFIED: (
        EndState.NOT_FOUND,
        "An answer was found, but its quotes do not stand where they should, so it is not shown.",
    ),
    Reason.SUPPORT_UNVERIFIED: (
        EndState.NOT_FOUND,
        "An answer was found, but the quoted places do not bear it out, so it is not shown.",
    ),
    Reason.CONFIDENCE_LOW: (EndState.NOT_FOUND, "An answer was found, but it is too uncertain to be shown."),
}


def end_state(reason: Reason) -> EndState:
    """The end state that a reason belongs to."""
    return REASONS[reason][0]


def sentence(reason: str) -> str:
    """What a person reads for a reason code. Raises `ValueError` for an unknown one."""
    return REASONS[Reason(reason)][1]
