"""THE PIPELINE: the one ordered tuple that every document goes through.

inspect   what is this file: type by content, encryption, pages, outline         whole document
render    a picture of each page, pixel-capped, in a process that can die        by window of pages
read      text with word boxes, headings, tables, figures; OCR where needed      by window
embed     passages and their vectors, in a named embedding space                 by window
describe  document type, language, section tree, page roles, priors, postings    whole document
publish   one transaction moves the live pointer                                 whole document
"""

from ingestion.stages import describe, embed, inspect, publish, read, render
from ingestion.stages.contract import Stage, StageContext, Tools

PIPELINE: tuple[Stage, ...] = (
    Stage("inspect", "cpu", False, inspect.run, priority=7),
    Stage("render", "cpu", True, render.run),
    Stage("read", "cpu", True, read.run),
    Stage("embed", "embed", True, embed.run),
    Stage("describe", "describe", False, describe.run, priority=6),
    Stage("publish", "publish", False, publish.run, priority=9),
)

__all__ = ["PIPELINE", "Stage", "StageContext", "Tools"]
