#!/usr/bin/env python3
"""Writes what the program is made of as SPDX 2.3: sbom.py PROGRAM OUTPUT.spdx.json

The program, the commit it was built from, and every row of third_party.csv that is in it or that it loads, with version and license.
"""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

import third_party


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package_of(part):
    version = third_party.version(part) or "NOASSERTION"
    kind = f"pkg:npm/{part.npm}@{version}" if part.npm else f"pkg:deb/debian/{part.package}@{version}"
    return {"SPDXID": identifier(part.library), "name": part.library, "versionInfo": version, "supplier": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": part.license,
            "copyrightText": "NOASSERTION", "comment": f"{part.project}, {part.linked}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": kind}]}


def relation(part):
    kinds = {"shared": "DYNAMIC_LINK", "static": "STATIC_LINK"}
    return {"spdxElementId": "SPDXRef-trainyard", "relationshipType": kinds.get(part.linked, "CONTAINS"), "relatedSpdxElement": identifier(part.library)}


def document(program):
    facts = json.loads(subprocess.run([program, "version", "--verbose", "--json"], capture_output=True, text=True, check=True).stdout)
    with open(program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    chosen = third_party.passed_on(program, libraries_too=True)
    # The same source gives the same file.
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    ours = {"SPDXID": "SPDXRef-trainyard", "name": "trainyard", "versionInfo": facts["version"], "supplier": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION", "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
            "sourceInfo": f"commit {facts['commit']}, {facts['compiler']}, {facts['options']}", "primaryPackagePurpose": "APPLICATION"}
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"trainyard-{facts['version']}",
            "documentNamespace": f"https://spdx.org/spdxdocs/trainyard-{facts['version']}-{digest[:32]}",
            "creationInfo": {"created": date.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: trainyard-sbom"]},
            "packages": [ours, *map(package_of, chosen)],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-trainyard"},
                              *map(relation, chosen)]}


if __name__ == "__main__":
    program, output = sys.argv[1:]
    with open(output, "w") as file:
        json.dump(document(program), file, indent=1)
        file.write("\n")
