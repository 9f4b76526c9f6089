"""Texts as vectors, so that what means the same lies close: the seam `Embedder` and what stands behind it. Nothing here keeps vectors.

Optional: importing these modules loads neither numpy nor a model; only opening an embedder does.
"""
