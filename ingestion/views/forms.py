"""The console's forms. What they let through, the services still check."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.core.files.uploadedfile import UploadedFile

from ingestion.domain.ids import new_id
from ingestion.models import Corpus, Document, Organisation
from ingestion.selectors.console import corpus_slug_taken, document_choices, highest_page, unknown_names
from ingestion.selectors.sources import source_name_taken
from ingestion.services.sources import OWN_DOORS

MAX_NAMES = 500
NARROW = (("no", "Everyone whom the level above lets in"), ("yes", "Only the people and groups named here"))


class NamesField(forms.CharField):
    """Names of people and groups, one a line; cleaned to a tuple without repeats."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("required", False)
        super().__init__(max_length=60_000, widget=forms.Textarea(attrs={"rows": 3, "class": "names", "spellcheck": "false"}), **options)

    def clean(self, value: str) -> tuple[str, ...]:
        text = super().clean(value) or ""
        names = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
        if len(names) > MAX_NAMES:
            raise forms.ValidationError(f"At most {MAX_NAMES} names.")
        return names


class ListForm(forms.Form):
    """Allow and deny lists. A name that nobody has is refused: it would silently let nobody in."""

    allow = NamesField(label="May read", help_text="Names of groups and people, one a line.")
    deny = NamesField(label="May never read", help_text="Denying wins over allowing.")

    def __init__(self, organisation: Organisation, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)
        self.organisation = organisation

    def _known(self, field: str) -> tuple[str, ...]:
        names = self.cleaned_data[field]
        unknown = unknown_names(self.organisation, list(names))
        if unknown:
            raise forms.ValidationError(f"No person or group has the name {', '.join(unknown[:5])}.")
        return names

    def clean_allow(self) -> tuple[str, ...]:
        return self._known("allow")

    def clean_deny(self) -> tuple[str, ...]:
        return self._known("deny")


class CorpusForm(ListForm):
    slug = forms.SlugField(max_length=60, label="Short name", help_text="For addresses and commands: letters, digits, hyphens.")
    name = forms.CharField(max_length=200, label="Name")
    field_order = ("name", "slug", "allow", "deny")

    def clean_slug(self) -> str:
        slug = self.cleaned_data["slug"]
        if corpus_slug_taken(self.organisation, slug):
            raise forms.ValidationError("A corpus has, or had, this short name. Choose another.")
        return slug


class SourceForm(forms.Form):
    """A program that is to send into one of the corpora given."""

    name = forms.SlugField(max_length=60, label="Name", help_text="As events and the audit will name it: letters, digits, hyphens.")
    corpus_id = forms.ChoiceField(label="Corpus")

    def __init__(self, corpora: list[Corpus], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)
        self.corpora = {str(corpus.id): corpus for corpus in corpora}
        self.fields["corpus_id"].choices = [(key, corpus.name) for key, corpus in self.corpora.items()]

    @property
    def corpus(self) -> Corpus:
        return self.corpora[self.cleaned_data["corpus_id"]]

    def clean(self) -> None:
        """Names belong to the organisation: one that is taken, wherever, would change another's source."""
        name = self.cleaned_data.get("name")
        if name and "corpus_id" in self.cleaned_data and (name in OWN_DOORS or source_name_taken(self.corpus.organisation, name)):
            self.add_error("name", "This name cannot be used. Choose another.")


class TokenForm(forms.Form):
    label = forms.CharField(max_length=100, label="Label", help_text="By which you will know it, and end it.")
    days = forms.IntegerField(min_value=1, max_value=3650, initial=365, required=False, label="Days", help_text="Empty: until you end it.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)


class NarrowForm(ListForm):
    """A list for a level that may also leave things to the level above."""

    narrow = forms.ChoiceField(choices=NARROW, widget=forms.RadioSelect, initial="no", label="Who may read")
    field_order = ("narrow", "allow", "deny")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("narrow") == "no" and cleaned.get("allow"):
            self.add_error("allow", "Names are given here, but the choice above does not use them.")
        return cleaned

    @property
    def allow_list(self) -> tuple[str, ...] | None:
        """None when the level does not narrow."""
        return self.cleaned_data["allow"] if self.cleaned_data["narrow"] == "yes" else None


class PageListForm(NarrowForm):
    page_number = forms.IntegerField(min_value=1, label="Page", help_text="The physical page, counted from 1.")
    field_order = ("page_number", "narrow", "allow", "deny")

    def __init__(self, document: Document, *args: Any, **kwargs: Any) -> None:
        super().__init__(document.organisation, *args, **kwargs)
        self.document = document

    def clean_page_number(self) -> int:
        number, last = self.cleaned_data["page_number"], highest_page(self.document)
        if number > last:
            raise forms.ValidationError(f"The live version has {last} pages." if last else "No version is live yet.")
        return number


class UploadForm(NarrowForm):
    """A PDF, as a new document with its list, or as a new version that keeps the list in force."""

    file = forms.FileField(label="PDF file", widget=forms.ClearableFileInput(attrs={"accept": "application/pdf,.pdf"}))
    of = forms.ChoiceField(required=False, label="This is")
    title = forms.CharField(
        max_length=500, required=False, label="Title", help_text="Left empty, the file's name; of a new version, the title it has."
    )
    password = forms.CharField(
        max_length=500, required=False, strip=False, label="Password of the file",
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Only for an encrypted PDF. It is kept sealed, to read the file with.",
    )  # fmt: skip
    field_order = ("file", "of", "title", "password", "narrow", "allow", "deny")

    def __init__(self, corpus: Corpus, *args: Any, **kwargs: Any) -> None:
        super().__init__(corpus.organisation, *args, **kwargs)
        choices = [("", "A new document")]
        choices += [(key, f"A new version of: {title[:120]}") for key, title in document_choices(corpus)]
        self.fields["of"].choices = choices  # type: ignore[attr-defined]

    @property
    def document_id(self) -> UUID | None:
        """The document that gets a new version, or None for a new document."""
        return UUID(self.cleaned_data["of"]) if self.cleaned_data["of"] else None

    @property
    def file_name(self) -> str:
        """The name of the file as given, without characters that do not print."""
        upload: UploadedFile = self.cleaned_data["file"]
        name = "".join(letter for letter in upload.name or "" if letter.isprintable()).strip()
        return name[-200:] or "document.pdf"

    @property
    def new_external_id(self) -> str:
        """The external id of a new document: its own, whatever the file is called."""
        return f"upload/{new_id()}/{self.file_name}"
