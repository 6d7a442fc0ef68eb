"""Every failure that ingestion knows, by what can be done about it.

    IngestionError
    ├── Transient    trying again may help (a worker died, a server was away)
    │   └── NoRoom   nobody's fault and no attempt: the same work waits until a disk has room again
    ├── Permanent    trying again cannot help (the file is damaged)
    └── NeedsHuman   a person must act (give the password, choose another file)

The worker decides by the TYPE, never by the text. `code` is stable and for programs; `message` is for people
and never holds document text.
"""

from __future__ import annotations


class IngestionError(Exception):
    """A failure with a stable code and a sentence that a person understands."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Transient(IngestionError):
    """Trying again may help."""


class NoRoom(Transient):
    """A disk is full. Waiting costs no attempt, since the work itself did nothing wrong."""


class Permanent(IngestionError):
    """Trying again with the same input cannot help."""


class NeedsHuman(IngestionError):
    """A person must do something first."""


# code -> (type, what a person reads). The codes a document may end with.
DOCUMENT_FAILURES: dict[str, tuple[type[IngestionError], str]] = {
    "empty_file": (Permanent, "The file has no bytes."),
    "not_a_pdf": (Permanent, "The file is not a PDF, whatever its name says. Convert it to PDF and send that."),
    "corrupt": (Permanent, "The PDF is damaged and could not be repaired. Export it again from its source."),
    "encrypted": (NeedsHuman, "The PDF is encrypted and opens with a password only. Supply the password or an open copy."),
    "unsupported_encryption": (NeedsHuman, "The PDF uses an encryption that cannot be read here. Supply an open copy."),
    "no_pages": (Permanent, "The PDF has no pages."),
    "too_large": (Permanent, "The file is larger than the limit for one document."),
    "too_many_pages": (Permanent, "The PDF has more pages than the limit for one document."),
    "no_content": (Permanent, "No page of the PDF shows any text or image; there is nothing to answer from."),
    "xfa_form": (NeedsHuman, "The PDF is a dynamic XFA form: its content is not in its pages. Print it to PDF and send that."),
    "parser_memory": (Permanent, "Reading the file took more memory than one document may use."),
    "parser_timeout": (Permanent, "Reading the file took longer than one document may take."),
    "parser_output": (Permanent, "Reading the file produced more data than one document may."),
    "parser_died": (Transient, "The process that read the file died."),
    "stage_failed": (Transient, "A stage failed for a reason that may pass."),
    "attempts_exhausted": (NeedsHuman, "Every attempt failed; the last reason is kept with the job."),
    "disk_full": (NoRoom, "There is too little room on a disk; the work goes on by itself once there is room."),
    "blob_missing": (Permanent, "The stored file is gone from the blob store."),
    "embedder_failed": (Transient, "The embedding model did not answer as it must."),
}


def failure(code: str, detail: str = "") -> IngestionError:
    """The typed failure of a code in `DOCUMENT_FAILURES`; `detail` adds facts about the file, never its text."""
    kind, sentence = DOCUMENT_FAILURES[code]
    return kind(code, f"{sentence} ({detail})" if detail else sentence)
