"""Tests of `clan_learnings.sessions`."""
