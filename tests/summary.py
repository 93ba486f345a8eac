#!/usr/bin/env python3
"""Adds up what ctest recorded: summary.py RESULTS.xml...

Prints the output of every failing test and every line in which a test says that it skipped something, then
"N passed, N failed". A doctest binary counts its test cases, any other test counts as one. A binary that crashed,
timed out or failed without a failing case (a leak found at exit) adds one failure. Exit status 1 if anything failed
or if there was nothing to count.
"""

import re
import sys
import xml.etree.ElementTree

CASES = re.compile(r"\[doctest\] test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")
TAIL = 80  # lines of a failing test's output


def count(status, output):
    """(passed, failed) of one test of ctest."""
    passed = failed = 0
    summaries = CASES.findall(output)
    for _, case_passed, case_failed in summaries:
        passed += int(case_passed)
        failed += int(case_failed)
    if status == "run":
        return (passed, failed) if summaries else (1, 0)
    return passed, max(failed, 1)


def main(paths):
    passed = failed = 0
    for path in paths:
        try:
            cases = list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            print(f"{path}: {error}")
            failed += 1
            continue
        if not cases:
            print(f"{path}: no tests")
            failed += 1
        for case in cases:
            output = case.findtext("system-out") or ""
            status = case.get("status")
            # A test says that it is to be skipped; one whose program is missing has failed.
            skipped = case.find("skipped")
            asked = skipped is not None and (skipped.get("message") or "").startswith("SKIP_")
            if status == "disabled" or status == "notrun" and asked:
                print(f"skipped: {path}: {case.get('name')}")
                continue
            case_passed, case_failed = count(status, output)
            passed += case_passed
            failed += case_failed
            if case_failed:
                print(f"==== FAILED: {path}: {case.get('name')}")
                print("\n".join(output.splitlines()[-TAIL:]))
            else:
                for line in sorted({line for line in output.splitlines() if line.lower().startswith("skipped")}):
                    print(f"{case.get('name')}: {line}")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
