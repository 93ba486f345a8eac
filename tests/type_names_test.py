#!/usr/bin/env python3
"""Shows that type_names.py finds a name that is there twice, and nothing where names only look alike."""

import sys

from small_tree import found_in
from type_names import violations

PROOF = "namespace weft {\n\nstruct Proof {\n  int ms;\n};\n\n}  // namespace weft\n"
GOOD = {
    "engine/prove.h": PROOF,
    "engine/plan.cpp": "namespace weft {\nnamespace {\n\nstruct Proof {\n};\n\n}  // namespace\n}  // namespace weft\n",
    "engine/loop.h": "namespace weft::loop {\nclass Proof final : public Base {\n};\n}  // namespace weft::loop\n",
    "frontend/ahead.h": "namespace weft {\nstruct Proof;\nenum class Proofs : int { one };\nclass Book {\n  struct Proof {};\n};\n}  // namespace weft\n",
}
BAD = [
    ("frontend/proofs.h", PROOF, "weft::Proof is defined in engine/prove.h and in frontend/proofs.h"),
    ("runtime/proofs.cpp", "namespace weft {\nenum class Proof : char { yes };\n}  // namespace weft\n",
     "weft::Proof is defined in engine/prove.h and in runtime/proofs.cpp"),
    ("bench/proofs.h", "namespace weft::loop {\ntemplate <class T>\nstruct Proof {\n};\n}  // namespace weft::loop\n",
     "weft::loop::Proof is defined in bench/proofs.h and in engine/loop.h"),
]


def found(files):
    return found_in(files, violations)


wrong = [f"nothing wrong, but {said}" for said in found(GOOD)]
for name, text, said in BAD:
    told = found({**GOOD, name: text})
    if told != [said]:
        wrong.append(f"{name}: wanted {said!r}, found {told}")
print("\n".join(wrong) if wrong else f"{len(BAD)} names that are there twice are found")
sys.exit(1 if wrong else 0)
