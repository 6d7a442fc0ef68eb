"""Which doors stand open to a person: what the head of every page links to."""

from __future__ import annotations

from typing import Any

from django import template

from ingestion.selectors.console import Doors, doors_open_to

register = template.Library()


@register.simple_tag
def doors_of(user: Any) -> Doors:
    """The doors beside the portal, which is open to all who signed in."""
    return doors_open_to(user)
