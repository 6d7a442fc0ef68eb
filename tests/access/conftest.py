"""What the tests of access share: documents worked off in this process, and a scene with an answered question."""

from tests.ingestion.fakes import bench as bench
from tests.qa.views.scene import scene as scene
