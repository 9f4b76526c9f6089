"""Texts as vectors: every embedder, with real models and a real server where they can be had."""
