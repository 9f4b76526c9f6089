"""What the clan knows: records, promotion, context, recall, harvest. Never imports `peers`.

So far the parts that need no record: who and where we are, what must not be written, which corrections are alike, and
the settings files of agents. No command uses them yet.
"""
