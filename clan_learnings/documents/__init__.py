"""Learning documents: what they hold, how good they are, how one is made without a model, and as files. Drafts; others write records."""
