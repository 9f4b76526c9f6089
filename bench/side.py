"""The entry of a measured process: `python -m bench.side MODULE:FUNCTION JSON`. Prints JSON, nothing else."""

import importlib
import json
import sys


def main() -> None:
    name, arguments = sys.argv[1:]
    module, function = name.split(":")
    print(json.dumps(getattr(importlib.import_module(module), function)(**json.loads(arguments))))


if __name__ == "__main__":
    main()
