#!/usr/bin/env bash
# Importing nbformat 5.10.4 beside jsonschema 4.26.0, without and with its extra "format-nongpl" (rfc3987-syntax 1.1.0),
# which jupyter-events asks for, so that each environment with a Jupyter server has it.
#
# Guessed: the extra checks formats such as URIs where a schema names one, and costs nothing before.
# Seen: with it, the import builds 39 parsers of IRIs by lark, none of which a notebook needs: 1.08 s, and 0.08 s without,
# in each build, test process and server that reads a notebook.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nbformat==5.10.4 jsonschema==4.26.0 lark==1.3.1
count() {
  "$folder/venv/bin/python" - <<'PYTHON'
import time

import lark

built, make = [], lark.Lark.__init__
lark.Lark.__init__ = lambda self, *given, **options: (built.append(self), make(self, *given, **options))[1]
start = time.perf_counter()
import nbformat  # noqa: E402, F401

print(len(built), f"{time.perf_counter() - start:.2f}")
PYTHON
}
read -r without seconds_without < <(count)
"$folder/venv/bin/pip" install --quiet "jsonschema[format-nongpl]==4.26.0" rfc3987-syntax==1.1.0
read -r with seconds_with < <(count)
echo "without the extra: $without parsers built, $seconds_without s; with it: $with parsers built, $seconds_with s"
[ "$without" -eq 0 ] && [ "$with" -eq 39 ]
