"""Embedders: texts become vectors, close together if they mean the same. The protocol `Embedder` and its implementations; nothing here stores vectors.

Optional: importing these modules loads neither numpy nor a model; only opening an embedder does.
"""
