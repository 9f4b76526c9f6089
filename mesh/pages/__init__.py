"""Markdown that people and agents edit at once, as text CRDTs. The only importer of pycrdt."""
