"""The context of a session: harmless lines, a bound on their tokens, the budget, and the mark on injected text.

Only `session_context` reads records; the rest is pure. Hooks start here, so nothing slow is imported.
"""
