"""What a session is given at its start: lines that can do no harm, a bound on tokens, a mark, and the budget.

Pure. No store, no clock, no files: what is shown comes in as plain values. Hooks start here, so nothing slow is imported.
"""
