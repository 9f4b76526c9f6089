"""Tests of `clan_learnings.capture`."""
