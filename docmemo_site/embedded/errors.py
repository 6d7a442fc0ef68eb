"""What can go wrong with the embedded default.

EmbeddedError
    UnsupportedPlatform   no binaries exist for this machine
    StartFailed           a service did not become ready within its bound
    Busy                  another command holds the control lock for too long
"""

from __future__ import annotations


class EmbeddedError(Exception):
    """Something about the embedded services failed; the text is meant for a person."""


class UnsupportedPlatform(EmbeddedError):
    """The embedded services have no binaries for this machine."""


class StartFailed(EmbeddedError):
    """A service did not become ready within its bound."""


class Busy(EmbeddedError):
    """Another command is starting or stopping the services and does not finish."""
