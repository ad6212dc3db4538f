"""Errors written for the person who meets them: what is wrong, what was expected, what to do."""

from __future__ import annotations


class BinderyError(Exception):
    """A failure that a person can act on; the command line prints it as one line and exits with 1."""


class InputError(BinderyError, ValueError):
    """Something handed in has the wrong shape, type, range or name."""


class DataError(BinderyError):
    """A file is missing, damaged or not what its checksum or count says."""
