"""Settings of a drill: the product's, with short leases, a quick embedder that can be told to fail, and safeguards that can be turned off.

Faults come here in minutes that elsewhere come in months, so a run may be tried more often, and what was lost is looked for sooner.
"""

from __future__ import annotations

from docmemo_site.embedded.home import Home
from docmemo_site.embedded.state import load_or_create
from docmemo_site.settings import env

load_or_create(Home(env.home()), durable=False)

from docmemo_site.settings.base import *  # noqa: E402, F403
from docmemo_site.settings.base import DOCMEMO_HOME, PIPELINE, SEAMS  # noqa: E402

DRILL_WITHOUT = env.text("DOCMEMO_DRILL_WITHOUT")
DRILL_CONTROL = DOCMEMO_HOME / "drill"
# Without the lease a run belongs for ever to whoever took it first: what a killed worker held never comes back.
LEASE_SECONDS = 10 * 365 * 24 * 3600 if DRILL_WITHOUT == "lease" else 6

PIPELINE = {
    **PIPELINE,
    "LEASE_SECONDS": LEASE_SECONDS,
    "MAX_ATTEMPTS": 12,
    "OFFER_AGAIN_SECONDS": 10,
    "RENDER_LONG_SIDE": 300,
}
SEAMS = {
    **SEAMS,
    "page_embedder": {"BACKEND": "docmemo_site.drill.embedder.DrillEmbedder", "OPTIONS": {"control": DRILL_CONTROL}},
}
if DRILL_WITHOUT == "commit-order":
    SEAMS["event_bus"] = {**SEAMS["event_bus"], "BACKEND": "docmemo_site.drill.hasty_bus.HastyBus"}
