"""What all rows share: a UUID version 7 key, and CHECK constraints made from the domain's state enumerations."""

from __future__ import annotations

from enum import StrEnum

from django.db import models

from ingestion.domain.ids import new_id


class Identified(models.Model):
    """A row with a time-ordered UUID key."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)

    class Meta:
        abstract = True


def state_field(states: type[StrEnum], default: StrEnum) -> models.CharField:
    """A text column for a state of the enumeration."""
    return models.CharField(max_length=16, default=default.value, choices=[(s.value, s.value) for s in states])


def state_constraint(name: str, states: type[StrEnum], field: str = "state") -> models.CheckConstraint:
    """The database's own refusal of a state that the enumeration does not know."""
    return models.CheckConstraint(name=name, condition=models.Q(**{f"{field}__in": [s.value for s in states]}))
