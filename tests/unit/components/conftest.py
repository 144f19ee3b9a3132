"""Laws are judged by their answers, not by the clock of a shared machine."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
