"""Signing in and out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from ingestion.views.lockout import WINDOW_SECONDS, Attempts

TOO_MANY = f"Too many failed attempts. Try again in {WINDOW_SECONDS // 60} minutes."


class SignIn(LoginView):
    """Name and password. The refusal is the same for a wrong password, an unknown name and a closed account."""

    template_name = "ingestion/signin.html"
    redirect_authenticated_user = True
    http_method_names = ["get", "head", "post"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if getattr(request, "htmx", False):  # a page that was polling has lost its session: the whole page goes to the door
            back = request.htmx.current_url_abs_path or "/"
            return HttpResponse(status=204, headers={"HX-Redirect": f"{reverse('signin')}?{urlencode({'next': back})}"})
        if request.method.lower() not in self.http_method_names:
            return self.http_method_not_allowed(request)
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.attempts = Attempts.of(request.POST.get("username", "")[:500], request.META.get("REMOTE_ADDR", ""))
        if not self.attempts.begin():
            return self.render_to_response(self.get_context_data(form=AuthenticationForm(request), refusal=TOO_MANY), status=429)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        self.attempts.clear()
        return super().form_valid(form)
