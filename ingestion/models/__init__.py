"""The rows of ingestion: people and access, corpora, documents and their builds, events, jobs, the audit chain."""

from ingestion.models.access import AccessAssignment, AccessClass, AccessLevel
from ingestion.models.audit import AuditEntry, AuditPayload
from ingestion.models.corpus import Corpus, CorpusEpoch
from ingestion.models.directory import DirectoryGroup, DirectoryPerson
from ingestion.models.document import Blob, Build, BuildAccessCount, BuildLiveness, Document, DocumentVersion, Purge
from ingestion.models.event import DeadLetter, InboxEvent, OutboxEvent, Source
from ingestion.models.job import Job, StageRun, WorkerHeartbeat
from ingestion.models.page import (
    Block,
    EmbeddingSpace,
    MultiVector,
    Page,
    PageText,
    Passage,
    PassageVector,
    PooledVector,
    Posting,
    SchemaFact,
)
from ingestion.models.people import Membership, Organisation, Principal, Role, RoleAssignment, User
from ingestion.models.source import ApiToken, DocumentPassword, SourceConfiguration, SourceItem, Upload, UploadPart

__all__ = [
    "AccessAssignment",
    "AccessClass",
    "AccessLevel",
    "ApiToken",
    "AuditEntry",
    "AuditPayload",
    "Blob",
    "Block",
    "Build",
    "BuildAccessCount",
    "BuildLiveness",
    "Corpus",
    "CorpusEpoch",
    "DeadLetter",
    "DirectoryGroup",
    "DirectoryPerson",
    "Document",
    "DocumentPassword",
    "DocumentVersion",
    "EmbeddingSpace",
    "InboxEvent",
    "Job",
    "Membership",
    "MultiVector",
    "Organisation",
    "OutboxEvent",
    "Page",
    "PageText",
    "Passage",
    "PassageVector",
    "PooledVector",
    "Posting",
    "Principal",
    "Purge",
    "Role",
    "RoleAssignment",
    "SchemaFact",
    "Source",
    "SourceConfiguration",
    "SourceItem",
    "StageRun",
    "Upload",
    "UploadPart",
    "User",
    "WorkerHeartbeat",
]
