"""Transcripts of coding agents, whatever their flavour, as one schema; and what a session amounts to.

Reads bytes that anybody may have written. Judges nothing (that is `clan_learnings.harvest`), keeps nothing (the store does).
"""
