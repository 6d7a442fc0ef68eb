"""How groups and people of a directory outside are bound to ours: by the directory's own key, so a renamed group takes no rights over."""

from __future__ import annotations

from django.db import models

from ingestion.models.base import Identified
from ingestion.models.people import Organisation, Principal, User


class DirectoryGroup(Identified):
    """A group of a directory. `read_at` is when its list was last read whole; None where only its name was met."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="directory_groups")
    source = models.CharField(max_length=32)
    key = models.CharField(max_length=200)
    group = models.ForeignKey(Principal, on_delete=models.CASCADE, related_name="directory_groups")
    revision = models.BigIntegerField(default=-1)
    read_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "source", "key"], name="directory_group_once"),
            models.UniqueConstraint(
                fields=["source", "group"], condition=models.Q(deleted_at__isnull=True), name="directory_group_bound_once"
            ),
        ]


class DirectoryPerson(Identified):
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="directory_people")
    source = models.CharField(max_length=32)
    key = models.CharField(max_length=200)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="directory_people")
    revision = models.BigIntegerField(default=-1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "source", "key"], name="directory_person_once"),
            models.UniqueConstraint(fields=["source", "user"], name="directory_person_bound_once"),
        ]
