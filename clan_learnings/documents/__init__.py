"""Learning documents: their content, their quality, how one is made without a model, and their Markdown files. Drafts; the store writes."""
