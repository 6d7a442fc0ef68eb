"""Text around the facts: sentences about a topic that differ from page to page and never state what a question asks."""

from __future__ import annotations

import random
from collections.abc import Iterator

from facts import MONTHS, Facts
from topics import Topic

_GENERAL = """
Whoever wants to {act} tells {who} in good time and writes a line into the shared register.
{Thing} are looked at every {month} and {month2}, and what is found goes to {who}.
{person} collects remarks on {thing} and answers each of them in writing.
It is best to {act} in the morning, when {who} is easy to reach.
In {city} the {thing} are kept on the ground floor; in {city2} they share a room with the archive.
Nobody has to {act} alone: {who} helps, and so do the colleagues next door.
Last season {n} remarks about {thing} came in, most of them small ones.
Where {thing} are missing or damaged, {who} sends a replacement within {n} hours.
Before you {act}, make sure that {thing} have been counted and signed for.
The list of {thing} was renewed in {month} and has now {n} lines.
If two people want to {act} on the same day, {who} decides by the date of the request.
{Thing} and {thing2} belong together and are filed under the same number.
A short note is enough to {act}; a long letter only slows things down.
{person} and {person2} are the contacts for {thing} until the end of {month}.
Experience shows that it takes about {n} minutes to {act} properly.
Exceptions are possible for {thing}, but {who} has to know the reason.
Those who {act} for the first time are shown how by {who}.
Old {thing} are thrown away only after {who} has had a look at them.
The habit to {act} without asking has caused {n} needless phone calls.
Photographs of {thing} help when {who} works at another site.
What is said here about {thing} is a minimum; teams may agree on more.
It does no harm to {act} twice, but it should be noted both times.
From {month} on {thing} carry a coloured mark, so that they are found more easily.
{who_} keeps a spare set of {thing} for the days when everything comes at once.
Please do not {act} during a stocktaking, unless {who} has agreed.
A survey among {n} colleagues showed that {thing} are well understood and {thing2} less so.
{person} wrote the first rules on {thing}, and much of that wording is still in use.
The way to {act} is the same at every site, although {thing} may look different.
"""

_TECHNICAL = """
Before you {act}, switch the machine off, hang up the sign and wait until nothing turns any more.
{Thing} leave the works in {city} in a clean state and should stay clean until they are fitted.
{who_} checks {thing} by eye at every change of shift and notes what is unusual.
A torque of {n} Nm is right for dry threads near the {thing}; oiled threads need less.
It takes two people to {act}; one of them watches {thing2}.
Worn {thing} show dull spots of the size of a coin and are replaced as a set.
Keep a gap of at least {n} mm between {thing} and the nearest wall.
If {thing} become warmer than {n} degrees, stop, let them cool and look for the reason.
To {act} without the right tool damages {thing} within a few turns.
{Thing} are marked with a number that starts with {n} and stands on the packing as well.
After {n} starts {who} should look at {thing} and at {thing2}.
Never {act} while the control cabinet is open or the floor is wet.
Small scratches on {thing} do no harm as long as a fingernail does not catch on them.
Use a lint-free cloth for {thing} and keep solvents away from {thing2}.
{who_} may {act} only with a valid work permit of the same day.
The drawing in the control cabinet shows where {thing} sit and how {thing2} are reached.
When you {act} for the first time, take a photograph before and one after.
On ships {thing} are fixed with {n} extra clamps, since the deck never stands still.
The surface of {thing} is treated against rust for about {n} days of open storage.
Put {thing} back in the same order, because each of them has settled in its place.
A humming sound near {thing} points to a loose cover and not to {thing2}.
The store in {city2} holds {thing} for all sizes of the machine.
If you cannot {act} within {n} minutes, put everything back and call {who}.
Dust on {thing} is removed with a brush, never with compressed air.
{person} of the test bench has written a sheet on {thing} that is sent on request.
Record number and date whenever you {act}, even if all looks well.
"""

_SHORT = """
{person} spoke with {n} people about {thing} and wrote the results down.
{Thing} were looked at in {month}, and {who} was content with what it saw.
In {city} it has become easier to {act}, since {thing2} are now close at hand.
It was agreed to {act} more often and to report about it in {month}.
{Thing} took more time than planned, while {thing2} went well.
Of {n} checks on {thing} nearly all ended without a remark.
{who_} will {act} wherever that helps, and will say so beforehand.
A second look at {thing} is planned together with the colleagues in {city2}.
Nothing in this section limits the right to {act} in an emergency.
{person} and {person2} answer questions about {thing}.
The records of {thing} are kept for the time that the law asks for.
It remains a task for {who} to {act} without delay.
The number of {thing} that were counted, {n}, includes those on loan.
Changes to {thing} are announced in writing and take effect in the following month.
Both sides treat {thing} with care and hand them over in a clean state.
Whether to {act} or to wait is decided by {who} alone.
"""

KINDS = {name: text.strip().splitlines() for name, text in (("general", _GENERAL), ("technical", _TECHNICAL), ("short", _SHORT))}


def prose(facts: Facts, kind: str, topic: Topic, subject: str) -> Iterator[str]:
    """Paragraphs on a topic without end; a sentence form comes back only when all the others were used."""
    rng = facts.rng(f"prose-{subject}-{topic.name}")
    forms: list[str] = []
    while True:
        if len(forms) < 5:
            fresh = [form for form in KINDS[kind] if form not in forms]
            rng.shuffle(fresh)
            forms += fresh
        count = rng.choice((3, 4, 5))
        yield " ".join(_said(rng, facts, topic, form) for form in forms[:count])
        del forms[:count]


def _said(rng: random.Random, facts: Facts, topic: Topic, form: str) -> str:
    thing, thing2 = rng.sample(topic.things, 2)
    month, month2 = rng.sample(MONTHS, 2)
    person, person2 = rng.sample(facts.bystanders, 2)
    return form.format(
        thing=thing, thing2=thing2, Thing=thing[0].upper() + thing[1:], act=rng.choice(topic.acts), who=topic.who,
        who_=topic.who[0].upper() + topic.who[1:], month=month, month2=month2, person=person, person2=person2,
        city=facts.city, city2=facts.other_city, n=plain_number(rng, facts),
    )  # fmt: skip


def plain_number(rng: random.Random, facts: Facts) -> int:
    """A number that is no fact."""
    while True:
        number = rng.randrange(13, 180)
        if str(number) not in facts.numbers.drawn:
            return number
