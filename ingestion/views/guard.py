"""Who may come in: signed in, and for the console a person who manages something. The rest is 404, as for what is absent."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse

from ingestion.selectors.console import doors_open_to

View = Callable[..., HttpResponse]
Row = TypeVar("Row")


def managers_only(view: View) -> View:
    """Lets in who manages the organisation or a corpus; which corpus it is about, the view still has to ask."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not doors_open_to(request.user).console:
            raise Http404
        return view(request, *args, **kwargs)

    return login_required(guarded)


def found(row: Row | None) -> Row:
    """The row; None, whether absent or forbidden, is 404."""
    if row is None:
        raise Http404
    return row
