from tests.ingestion.fakes import bench
from tests.qa.views.scene import scene

__all__ = ["bench", "scene"]
