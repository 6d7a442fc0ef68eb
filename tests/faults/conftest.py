"""The bench, for faults."""

from tests.ingestion.fakes import bench

__all__ = ["bench"]
