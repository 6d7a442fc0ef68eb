"""The cast: an administrator, an employee with access, an employee without, an auditor; and a stranger of another company."""

from __future__ import annotations

from dataclasses import dataclass

from ingestion.models import Organisation, Role, User
from ingestion.services.people import person_create

PASSWORD = "a long enough password"


@dataclass(frozen=True)
class Cast:
    organisation: Organisation
    admin: User
    alice: User  # an employee with access: in the group staff
    bob: User  # an employee without
    auditor: User
    elsewhere: Organisation
    mallory: User  # staff of another organisation


def make_cast() -> Cast:
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    elsewhere = Organisation.objects.create(slug="other", name="Other")

    def person(where: Organisation, username: str, groups: tuple[str, ...] = (), roles: tuple[Role, ...] = ()) -> User:
        return person_create(organisation=where, username=username, password=PASSWORD, groups=groups, roles=roles)

    return Cast(
        organisation=organisation,
        admin=person(organisation, "admin", roles=(Role.ORGANISATION_ADMIN,)),
        alice=person(organisation, "alice", groups=("staff",)),
        bob=person(organisation, "bob"),
        auditor=person(organisation, "audra", roles=(Role.AUDITOR,)),
        elsewhere=elsewhere,
        mallory=person(elsewhere, "mallory", groups=("staff",)),
    )
