"""Reads what `npm run binary` has made with libraries that know nothing of it. Prints what it saw as JSON."""

import json
import sys
from pathlib import Path

import lief
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

folder = Path(sys.argv[1])
seen = {}

error = JsonStrictValidator(SchemaVersion.V1_6).validate_str((folder / "sbom.cdx.json").read_text())
seen["sbom.cdx.json"] = "valid" if error is None else str(error)

for file in sorted(folder.glob("interlock-worker-darwin-*")):
    program = lief.MachO.parse(str(file)).at(0)
    fits, why = lief.MachO.check_layout(program)
    seen[file.name] = {
        "layout": "fits" if fits else why,
        "signature": program.has_code_signature,
        "data": program.get_segment("NODE_SEA") is not None,
    }

for file in sorted(folder.glob("interlock-worker-win-*.exe")):
    program = lief.PE.parse(str(file))
    seen[file.name] = {
        "checksum": program.optional_header.checksum == program.compute_checksum(),
        "signature": program.has_signatures,
        "says": str(program.verify_signature()),
    }

json.dump(seen, sys.stdout)
