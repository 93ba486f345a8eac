"""Layouts: explained by weft layout, taken by info and convert, read by kernels, refused with a caret or with coordinates."""

import json
import pathlib

from harness import require, require_equal, require_in
from tensors import read_tns

BLOCKS = "(i,j) -> (i/4:d, j/4:s, i%4:d, j%4:d)"


def case_a_layout_is_explained(weft):
    text = weft("layout", "bcsr(4,4)", "--shape", "9x7").out
    for part in ("is " + BLOCKS, "level 1  j/4:s", "pos crd<32>", "i = 4*c0+c2", "j = 4*c1+c3", "every coordinate has one", "extent 3"):
        require_in(part, text, "the page")
    report = json.loads(weft("layout", BLOCKS, "--shape", "9x7", "--json").out)
    require_equal(report["layout"], BLOCKS, "the layout")
    require_equal([level["extent"] for level in report["levels"]], [3, 2, 4, 4], "extents")
    require_equal(report["inverse"], ["i = 4*c0+c2", "j = 4*c1+c3"], "the inverse")
    require_equal(report["total"], True, "total")
    triangle = json.loads(weft("layout", "lower", "--shape", "9x7", "--json").out)
    require_equal(triangle["total"], False, "total")
    require_in("j has values 0 to min(6,i)", triangle["places"], "places")
    require_in("level 0  i:s", weft("layout", "ss:1,0", "--shape", "4x5").out.replace("j:s", "i:s"), "a plain format")
    require_equal(weft("layout", "csr", "--shape", "4x5", "--quiet").out, "", "quiet")


def case_layouts_whose_bounds_leave_nothing_out_are_total(weft):
    for layout, shape in (("lower", "4x1"), ("lower", "1x1"), ("upper", "1x4"), ("upper", "1x1"), ("band(3,4)", "4x5"),
                          ("(i,j) -> (i:d, j-i:d(-i..))", "4x5"), ("(i,j) -> (i:d, j:d(i-3..i+5))", "4x5")):
        report = json.loads(weft("layout", layout, "--shape", shape, "--json").out)
        require_equal((report["total"], report["places"]), (True, "every coordinate has one"), f"{layout} of {shape}")
        require_in("places: every coordinate has one", weft("layout", layout, "--shape", shape).out, f"{layout} of {shape}")
    for layout, shape in (("lower", "4x2"), ("upper", "2x4"), ("(i,j) -> (i:d, j:d(i-2..i+5))", "4x5"), ("(i,j) -> (i:d, j-i:d(1-i..))", "4x5")):
        report = json.loads(weft("layout", layout, "--shape", shape, "--json").out)
        require_equal(report["total"], False, f"{layout} of {shape}")
        require_in("those of which j", report["places"], f"{layout} of {shape}")


def case_layouts_are_proven(weft):
    report = json.loads(weft("layout", "bcsr(2,3,unaligned)", "--shape", "9x7", "--json").out)
    verdicts = {proof["kind"]: proof["verdict"] for proof in report["proofs"]}
    require_equal(verdicts, {"apart": "proven", "once": "proven", "within": "refuted"}, "verdicts")
    for proof in report["proofs"]:
        require_equal(bool(proof["counterexample"]), proof["verdict"] == "refuted", "a counterexample")
        require_in("(declare-const", proof["query"], "SMT-LIB")
    require_in("proven: no coordinate has two places", weft("layout", "ell", "--shape", "9x7").out, "the page")
    require_in("refuted: every coordinate has a place; not (", weft("layout", "lower", "--shape", "9x7").out, "the page")
    # Of 2*i some values are of no coordinate; (i+j)/2 is one only where both are even or odd.
    for factors in ("(i,j) -> (2*i+j:d, j:d)", "(i,j) -> (i:d, 2*j:s)", "(i,j) -> (i+j:s, i-j:s)", "(i,j) -> (3*i+2*j:s, i+j:s)", "(i,j) -> (i:d, j-2*i:s)"):
        page = weft("layout", factors, "--shape", "9x7").out
        require_in("proven: no coordinate has two places", page, factors)
        require("refuted: every place is a coordinate; not (" in page or "named by the values of its levels, is a coordinate; not (" in page, page)
    weft.error("layout", "(i,j) -> (i/1000:d, i%999:d, j:s)", "--shape", "2000x3", says="share their levels")
    require_equal(json.loads(weft("layout", "csr", "--shape", "0x7", "--json").out)["proofs"], [], "no places, no claims")


def case_bounds_tell_coordinates_apart(weft):
    """Coordinates without a place share none, and a refusal names none of them."""
    for layout, shape, inverse in (("(i,j) -> (j:s, i%8:d(2..4))", "9x2", "i = c1+2"), ("(i) -> ((i+1)/2:d(0..1))", "9", "i = 0")):
        page = weft("layout", layout, "--shape", shape).out
        require_in(inverse, page, layout)
        require_in("proven: no two coordinates share all levels", page, layout)
    require_in("proven: no coordinate has two places", weft("layout", "(i,j) -> (i/2:d, i:d, j:d)", "--shape", "4x2").out, "a level too many")
    weft.error("layout", "(i) -> (i%8:d(6..8))", "--shape", "15", says="(6) and (14) share their levels")
    weft.error("layout", "(i) -> (i%4:d(0..1), i/3:d)", "--shape", "15", says="weft cannot invert (i%4, i/3)")
    weft.write("m.tns", "3 1 5\n4 1 2\n4 2 -1\n")
    for layout in ("(i,j) -> (j:s, i%8:d(2..4))", "(i,j) -> (j:d, i%8:d(2..4))", "(i,j) -> ((i-2)/4:d(0..1), i%8:d(2..4), j:d)"):
        weft("convert", "m.tns:9x2", "out.tns", "--format", layout, "-q")
        require_equal(read_tns(weft.text("out.tns")), read_tns(weft.text("m.tns")), layout)
        for text, other in (("R(i) = A(i,j) * x(j)", "x=uniform(2)"), ("R(j) = A(i,j) * x(i)", "x=uniform(9)"), ("R(i,j) = A(i,j) * x(i,j)", "x=sparse(9x2,nnz=9)")):
            def result(format):
                weft("run", text, "A=m.tns:9x2", other, "--format", "A:" + format, "--out", "R=R.tns", "-q", "--no-cache")
                return {coordinates: value for coordinates, value in read_tns(weft.text("R.tns")).items() if value != 0}
            require_equal(result(layout), result("ss"), f"{text} in {layout}")
    weft.error("convert", "m.tns:9x2", "-", "--format", "(i,j) -> (j:s, i%8:d(3..4))", says="(2,0) of m.tns:9x2 has no place")


def case_levels_below_slots_and_several_starts(weft):
    slices = "(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)"
    fibers = "(i,j) -> (*:d(3), i:q, *:d(2), j:q)"
    corners = "(i,j) -> (a:s, b:s, i-a:d(4), j-b:d(4))"
    for layout in (slices, fibers, corners):
        require_in("proven: no coordinate has two places", weft("layout", layout, "--shape", "8x9").out, layout)
    page = weft("layout", slices, "--shape", "8x9").out
    require_in("level 2  j/2:q  values 0 to 4; extent 5; crd<32>; rises strictly with the slot", page, "a singleton with levels below")
    require_in("those of which there are at most 3 of (i), and at most 2 of (j) share (i)", weft("layout", fibers, "--shape", "8x9").out, "places")
    require_in("level 1  b:s       values 0 to 8; extent 9; pos crd<32>; pos rises from 0; starts lie 4 or more apart",
               weft("layout", corners, "--shape", "8x9").out, "the starts of the second name")
    weft.error("layout", "(i,j,k) -> (i:d, *:d, b:q, j-b:d(4), k:d)", "--shape", "8x9x3",
               says=["a start does not say what stands in a slot", "write b:s in place of the slot and b:q",
                     "\n  (i,j,k) -> (i:d, *:d, b:q, j-b:d(4), k:d)\n                        ^"])
    # As kernels read them, and in files.
    operands = ["A=sparse(8x9,nnz=20)", "x=uniform(9)", "--out", "y=y.tns", "-q", "--format"]
    weft("y(i) = A(i,j) * x(j)", *operands, "A:ds")
    expected = read_tns(weft.text("y.tns"))
    for layout in (slices, slices.replace("*:v", "*:d"), corners, "(i,j) -> (*:v, i:q, *:d, j:q)", "(i,j) -> (i/8:d, *:v, i%8/2:d, j/2:q, i%2:d, j%2:d)"):
        weft("y(i) = A(i,j) * x(j)", *operands, "A:" + layout)
        require_equal(read_tns(weft.text("y.tns")), expected, layout)
        weft("convert", "sparse(8x9,nnz=20)", "out.tns", "--format", layout, "-q")
        weft("convert", "sparse(8x9,nnz=20)", "plain.tns", "-q")
        require_equal(read_tns(weft.text("out.tns")), read_tns(weft.text("plain.tns")), layout)
    plan = weft("plan", "y(i) = A(i,j) * x(j)", *operands[:2], "--format", "A:" + slices).out
    require_in("planned over the levels of layouts, with i = 2*i_0 + i_1, j = 2*j_0 + j_1", plan, "slices of blocks")
    require_in("for j_0: drive A", plan, "blocks are driven as those of BCSR")


def case_wrong_layouts_show_where(weft):
    weft.error("layout", "(i,j) -> (i:d, j:x)", "--shape", "3x4", says=["unknown level kind 'x'", "\n  (i,j) -> (i:d, j:x)\n                   ^"])
    weft.error("layout", "(i,j) -> (i/4:d, j/4:d, i%4:d)", "--shape", "100x200", says="(0,0) and (0,1) share their levels")
    weft.error("layout", "(i,j) -> (i/2:d, j:d(..i+1), i%2:d)", "--shape", "4x5",
               says=["the levels above do not tell the bounds of level j:d(..i+1)", "\n  (i,j) -> (i/2:d, j:d(..i+1), i%2:d)\n                      ^"])
    weft.error("layout", "", "--shape", "3x4", says=["layout: the text ends early: a layout begins with its modes, as (i,j)", "\n  ^"])
    for text, caret in (("(i:d, j:s desc)", 2), ("(i/4:d, j:s)", 2), ("(i,j/2:s)", 4)):  # as texts abbreviate it
        weft.error("layout", text, "--shape", "3x4",
                   says=["layout: the modes stand before the levels, as in (i,j) -> (i:d, j:s)", "\n  " + " " * caret + "^"])
    weft.error("layout", "(i,j) -> (i/3:d, i%4:d, j:s)", "--shape", "100x200", says="weft cannot invert (i/3, i%4); write i/3 with i%3")
    weft.error("layout", "(i,j) -> (i:d, j:r)", "--shape", "3x4", status=3, says="reserved")
    weft.error("layout", "csr", "--shape", "3x4x5", says="has 2 modes, but the tensor has order 3")
    weft.error("layout", "csr", says="--shape 100x200")
    weft.error("layout", "csrr", "--shape", "3x4", says="'csrr' is no layout")
    weft.error("layout", says="weft layout wants one layout")


def case_files_in_layouts(weft):
    weft.write("m.tns", "1 1 1\n1 2 2\n4 3 5\n3 1 -1\n")
    entries = read_tns("1 1 1\n1 2 2\n4 3 5\n3 1 -1\n")
    for layout in ("bcsr(2,2)", "bcsr(2,2,unaligned)", "dia", "ell", "sell(2)", "vbl", "skyline", "csb(2)", "(i,j) -> (i:s desc, j:s unordered):f32"):
        run = weft("convert", "m.tns", "out.tns", "--format", layout)
        require_in("4x3 (i,j) -> ", run.out, "the summary")
        require_equal(read_tns(weft.read("out.tns").decode()), entries, layout)
    run = weft("info", "m.tns", "--format", "bcsr(2,2)")
    require_in("12 places for 4 entries: fill 0.333", run.out, "the fill")
    report = json.loads(weft("info", "m.tns", "--format", "bcsr(2,2)", "--json").out)
    require_equal((report["format"], report["nnz"], len(report["levels"])), ("(i,j) -> (i/2:d, j/2:s, i%2:d, j%2:d)", 12, 4), "the report")
    require_in("ds:1,0", weft("info", "m.tns", "--format", "ds:1,0").out, "a plain format")
    require_in("ds:0,1", weft("info", "m.tns", "--format", "csr").out, "a name")
    weft.error("convert", "m.tns", "out.tns", "--format", "upper", says=["(3,2) of m.tns has no place", "level j:d(i..) has no values there, not 2"])
    weft.error("info", "m.tns", "--format", "ell(4)", says="4 slots, but there are only 3 coordinates to stand in them; 3 fit")
    weft.error("info", "m.tns", "--format", "(i,j) -> (i:d", says="the text ends early")
    require("(i,j)" not in weft("info", "uniform(3x4)", "--format", "dd").out, "a dense format is plain")
    require_in("(j-i:s, i:d)", weft("info", "uniform(3x4)", "--format", "dia").out, "dense data")


def case_info_lists_the_same_layouts_as_json(weft):
    weft.write("m.tns", "".join(f"{2 * block + r + 1} {2 * block + c + 1} 1\n" for block in range(6) for r in range(2) for c in range(2)))
    for name, *more in (["m.tns"], ["m.tns", "--format", "hs"], ["m.tns", "--format", "ds:1,0"], ["m.tns", "--format", "bcsr(2,2)"],
                        ["m.tns", "--format", "dd"], ["uniform(4x4)"], ["sparse(9x9x9,nnz=5)"], ["sparse(4x4,nnz=0)"]):
        layouts = json.loads(weft("info", name, *more, "--json").out)["layouts"]
        shown = [f"{each['layout']}: {100 * each['fill']:.0f} % full" for each in layouts]
        lines = [line.strip().rsplit(",", 1)[0] for line in weft("info", name, *more).out.splitlines() if " % full, " in line]
        require_equal(shown, lines, f"layouts of {name} {more}")
        require(bool(lines) == (name == "m.tns" and more[1:] not in (["bcsr(2,2)"], ["dd"])), f"layouts of {name} {more}: {lines}")
        require(all(isinstance(each["bytes"], float) for each in layouts), f"bytes of {layouts}")


def case_layouts_beyond_all_addresses_are_named(weft):
    for layout in ("upper", "(i,j) -> (i:d, j:b, i%2:d)"):
        text = weft("layout", layout, "--shape", "4x4", "--json").out
        weft.error("convert", "sparse(4611686018427387904x4611686018427387904,nnz=0)", "-", "--format", layout, status=5,
                   says=["in layout " + json.loads(text)["layout"] + " needs more than 2^64 bytes"])


def case_kernels_read_layouts(weft):
    operands = ["y(i) = A(i,j) * x(j)", "A=sparse(8x9,nnz=20)", "x=uniform(9)", "--out", "y=y.tns", "-q", "--format"]
    weft(*operands, "A:ds")
    expected = read_tns(weft.read("y.tns").decode())
    for layout in ("bcsr(2,3)", "bcsr(3,1)", "bcsr(2,2,unaligned)", "dia", "ell", "sell(4)", "vbl", "csb(4)", "(i,j) -> (j/2:s, i:s, j%2:d)"):
        weft(*operands, "A:" + layout)
        require_equal(read_tns(weft.read("y.tns").decode()), expected, layout)
    page = weft("plan", *operands[:3], "--format", "A:bcsr(3,2)").out
    require_in("i = 3*i_0 + i_1, j = 2*j_0 + j_1", page, "the parts")
    require("layouts are pinned" not in page and "  A (i,j) -> (i/3:d, j/2:s, i%3:d, j%2:d) f64  kept: given as its layout is pinned" in page, page)


def case_results_in_layouts(weft):
    weft.write("m.tns", "1 1 1\n1 2 2\n4 3 5\n3 1 -1\n")
    for layout in ("bcsr(2,2)", "dia", "csb(2)", "vbl"):
        report = json.loads(weft("R(i,j) = 2 * M(i,j)", "M=m.tns", "--format", "R:" + layout, "--out", "R=r.tns", "--json").out)
        require_in("(i,j) -> (", report["results"]["R"]["format"], "the format")
        require_equal(report["results"]["R"]["extents"], [4, 3], "extents")
        entries = {at: value for at, value in read_tns(weft.read("r.tns").decode()).items() if value != 0}
        require_equal(entries, {at: 2 * value for at, value in read_tns("1 1 1\n1 2 2\n4 3 5\n3 1 -1\n").items()}, layout)
    weft.error("R(i,j) = 2 * M(i,j)", "M=m.tns", "--format", "R:upper", says="has no place in the layout")


def case_results_in_layouts_are_printed(weft):
    weft.write("m.tns", "1 1 1\n1 2 2\n4 3 5\n3 1 -1\n")
    for layout in ("bcsr(2,2)", "dia", "ell", "sell(2)", "band(3,3)", "csb(2)", "vbl", "(i,j) -> (i:d, j:s desc)", "(i,j) -> (i:s, j:s<8>)"):
        out = weft("run", "R(i,j) = M(i,j)", "M=m.tns", "--format", "R:" + layout).out
        lines = [line for line in out.splitlines() if line.startswith("  (")]
        require_equal(lines, ["  (0, 0)  1.0", "  (0, 1)  2.0", "  (2, 0)  -1.0", "  (3, 2)  5.0"], layout)
    require_in("  (5)  1.0", weft("run", "y(i) = x(i)", "x=ones(6)", "--format", "y:(i) -> (i/2:d, i%2:d)").out, "a vector in parts")


def case_layouts_at_the_prompt(weft):
    weft.write("m.tns", "1 1 1\n1 2 2\n4 3 5\n3 1 -1\n")
    weft.write("s", "M = m.tns\n:format M:bcsr(2,2)\nM\nM[3,2]\nM[2:4,0]\n:spy M\n:info M\nR(i,j) = 2 * M(i,j)\n")
    out = weft("repl", "s").out
    for part in ("i%2:d", "  (3, 2)  5.0", "5.0\n", "M[2:4,0]: 2 s:0 f64, 1 stored", "4 entries", "[ 0.  0. 10.]"):
        require_in(part, out, "the prompt")


def case_a_sparse_vector_in_a_layout_stays_sparse(weft):
    weft.write("b.tns", "1 1 nan\n1 2 inf\n1 3 5\n2 3 1\n3 2 2\n")
    weft.write("x.tns", "3 1\n")
    for layout in ("(i) -> (i/2:s, i%2:h)", "(i) -> (b:s, i-b:v)", "(i) -> (i/2:u, i%2:q)", "(i) -> (i/2:d, i%2:s)"):
        for calls in ("1", "100000"):
            weft("run", "y(i) = B(i,j) * x(j)", "B=b.tns", "x=x.tns:3", "--format", "x:" + layout, "--format", "y:s", "--calls", calls, "--out", "y=y.tns", "--quiet")
            require_equal(read_tns(weft.read("y.tns").decode()), read_tns("1 5\n2 1\n"), layout)


def case_schedules_over_layouts_are_read_again(weft):
    for layouts in (["A:bcsr(2,2)"], ["A:csb(4)"], ["A:dia"], ["A:bcsr(2,2)", "B:bcsr(3,3)"], ["A:sell(4)"], ["A:band(99,99)"]):
        for text, sizes in (("R(j,i) = A(j,i) * B(i,j)", ("30x20", "20x30")), ("R(i,k) = A(i,j) * B(j,k)", ("30x20", "20x30"))):
            call = [text, f"A=sparse({sizes[0]},nnz=60)", f"B=sparse({sizes[1]},nnz=60,seed=2)"]
            for layout in layouts:
                call += ["--format", layout]
            weft("plan", *call, "--emit", "schedule=c.schedule", "--quiet")
            weft("run", *call, "--out", "R=planned.tns", "--quiet")
            weft("run", *call, "--schedule", "c.schedule", "--out", "R=again.tns", "--quiet")
            require_equal(read_tns(weft.read("again.tns").decode()), read_tns(weft.read("planned.tns").decode()), " ".join(layouts))
    weft.write("wrong.schedule", "schedule\n  tree (A * B)\n  layout A sss:0,1,2 f64\n")
    weft.error("run", *call, "--schedule", "wrong.schedule", says="wrong.schedule: schedule, line")


def case_assignments_over_layouts_are_compared_by_their_own_networks(weft):
    for seed in range(4):
        text = weft("plan", "R = T0(k,j) * T1(j,i) * T1(j,i); S(i) = -1 * T2(i) * R()", f"T0=sparse(10x10,nnz=30,seed={seed})",
                    "T1=sparse(10x10,nnz=30,seed=1)", "T2=ones(10)", "--format", "T0:(i,j) -> (j:b, i%3:s, i/3:b)", "--format",
                    "T1:(i,j) -> (i:s, j/4:d, j%4:s)", "--no-cache").out
        require_in("peak memory", text, "the plan")


def case_zeros_that_fill_blocks_are_no_entries_of_files(weft):
    for layout, suffix in (("bcsr(2,2)", "tns"), ("bcsr(3,2)", "mtx"), ("(i,j) -> (i/2:d, j:s, i%2:d)", "tns")):
        for text, operands in (("R(i,j) = A(i,j)", ["A=sparse(6x6,nnz=12)"]), ("R(i,j) = A(i,k) * B(k,j)", ["A=sparse(6x6,nnz=6)", "B=sparse(6x6,nnz=6,seed=2)"])):
            weft("run", text, *operands, "--format", "R:" + layout, "--out", f"R=blocks.{suffix}", "--quiet")
            weft("run", text, *operands, "--format", "R:ss", "--out", f"R=plain.{suffix}", "--quiet")
            require_equal(weft.read(f"blocks.{suffix}"), weft.read(f"plain.{suffix}"), layout)


def case_schedules_over_layouts_that_were_chosen_are_read_again(weft):
    weft.write("blocks.tns", "".join(f"{3 * b + i} {3 * (b * 7 % 100) + j} 1\n" for b in range(100) for i in (1, 2, 3) for j in (1, 2, 3)))
    for operands in (["A=sparse(5000x5000,nnz=50000)", "x=sparse(5000,nnz=4000)", "--calls", "1000"],
                     ["A=blocks.tns:300x300", "x=ones(300)", "--calls", "100000"]):
        weft("plan", "y(i) = A(i,j) * x(j)", *operands, "--emit", "schedule=c.schedule", "--quiet")
        weft("run", "y(i) = A(i,j) * x(j)", *operands, "--schedule", "c.schedule", "--out", "y=y.tns", "--quiet")
        require("layout x d" in weft.read("c.schedule").decode(), "chosen")


def case_explanations_say_what_operands_are_stored_in_and_why(weft):
    weft.write("blocks.tns", "".join(f"{3 * (b // 5) + i} {3 * (b * 37 % 500) + j} 1\n" for b in range(2500) for i in (1, 2, 3) for j in (1, 2, 3)))
    call = ["y(i) = A(i,j) * x(j)", "A=blocks.tns:1500x1500", "x=ones(1500)", "--calls", "100000"]

    def told(*options):
        report = json.loads(weft("plan", *call, *options, "--json").out)
        return report, {layout["name"]: layout for layout in report["explanation"]["layouts"]}
    report, layouts = told("--emit", "schedule=c")
    stored = next(line for line in weft.text("c").splitlines() if line.startswith("  stored A "))
    require_equal(layouts["A"]["format"], stored[len("  stored A "):-len(" f64 chosen")], "the layout")
    require_equal(layouts["A"]["converted"], True, "converted")
    require(0 < layouts["A"]["conversion_ns_a_run"] * 99999 < layouts["A"]["conversion_ns"], "the price")
    for part in ("converted from ss:0,1 to (i,j) -> (", "chosen for its price, ", " % full; ", " a run over 100000 calls"):
        require_in(part, layouts["A"]["reason"], "the reason")
    require("layout of A" not in {constraint["name"] for constraint in report["explanation"]["constraints"]}, "nothing is pinned")
    page = weft("plan", *call).out
    require_in("converted before the run, as their layouts are chosen: A from ss:0,1 to (i,j) -> (", page, "the page")
    require("pinned" not in page, page)
    require_equal(told("--schedule", "c")[1]["A"], layouts["A"], "by the schedule")
    pinned = told("--format", "A:" + layouts["A"]["format"])[1]["A"]
    require_equal((pinned["format"], pinned["converted"]), (layouts["A"]["format"], False), "read so")
    padded = told("--format", "A:dia")[1]
    require_equal((padded["A"]["format"], padded["x"]["format"]), ("(i,j) -> (j-i:s, i:d)", "d:0"), "diagonals")
    require("converted from d:0 with zeros around it" in padded["x"]["reason"] and padded["x"]["converted"], padded)
    call[:] = ["R(i,j) = A(i,j) * B(j,i)", "A=sparse(9x11,nnz=30)", "B=sparse(11x9,nnz=30)"]
    located = told("--format", "B:dia", "--format", "R:bcsr(2,2)")[1]
    require_equal(located["B"]["format"], "(i,j) -> (j-i:s, i:d)", "located")
    require_in("located through its layout", located["B"]["reason"], "located")
    require_in("converted to (i,j) -> (i/2:d, j/2:s, i%2:d, j%2:d) after every run", located["R"]["reason"], "the result")


def case_a_layout_that_is_a_little_cheaper_than_the_chosen_one_is_told(weft):
    weft.write("band.tns", "".join(f"{3 * b + i} {3 * ((b + o) % 1500) + j} 1\n" for b in range(1500) for o in range(9) for i in (1, 2, 3) for j in (1, 2, 3)))
    call = ["y(i) = A(i,j) * x(j)", "A=band.tns:4500x4500", "x=ones(4500)"]
    report = json.loads(weft("plan", *call, "--calls", "20000", "--json").out)
    winner, *others = report["explanation"]["search"][0].split("; not ")
    require_in("A is stored in blocks of 6 by 1", winner, "the layout")

    def price(text):
        return float(text.split(" us a call")[0].split(", ")[-1])
    cheaper = [other for other in others if price(other) < price(winner)]
    require_equal([other.split(",")[0] for other in cheaper], ["blocks of 6 by 6"], "cheaper ones")
    require(cheaper[0].endswith(" us a call, within 5 % of what was found before"), cheaper[0])


def case_layouts_are_chosen_for_all_operands_together(weft):
    """Of A alone blocks of 6 by 1 are chosen, beside which none of B are as fast as blocks of 6 by 6 of both."""
    def write(name, blocks, left_out):
        weft.write(name, "".join(f"{3 * b + i} {3 * ((b + o) % blocks) + j} 1\n" for b in range(blocks) for o in range(8)
                                 for i in (1, 2, 3) for j in (1, 2, 3) if (i, j) != left_out))
    write("large.tns", 1500, None)
    write("band.tns", 700, None)
    write("holes.tns", 700, (2, 2))
    for text, calls, *operands in (("y(i) = A(i,j) * B(j,k) * x(k)", 20000, "A=large.tns:4500x4500", "B=large.tns:4500x4500", "x=ones(4500)"),
                                   ("y(i) = A(i,j) * B(i,j) * x(j)", 100000, "A=band.tns:2100x2100", "B=holes.tns:2100x2100", "x=ones(2100)")):
        call = ("run", text, *operands, "--calls", str(calls), "--json", "--explain")
        report = json.loads(weft(*call).out)
        winner, *others = report["explanation"]["search"][0].split("; not ")
        require("A is stored in blocks of " in winner and " and B is stored in blocks of " in winner, winner)
        require(others, "others are told")
        for pinned in (("A:ds", "B:ds"), ("A:bcsr(6,1)",), ("A:bcsr(3,3)", "B:ds")):
            other = json.loads(weft(*call, *(word for format in pinned for word in ("--format", format))).out)
            require(report["plan"]["cost_ns"] < other["plan"]["cost_ns"], f"{pinned}: {other['plan']['cost_ns']} ns")
            require_equal(other["results"]["y"]["sum"], report["results"]["y"]["sum"], "the sum")
        little = json.loads(weft("plan", *call[1:], "--memory-limit", "12M").out)
        require_equal(little["plan"]["schedule"], report["plan"]["schedule"], "the layouts of one candidate are held at a time")


def case_proofs_are_of_all_layouts_that_are_proposed(weft):
    weft.write("blocks.tns", "".join(f"{3 * (b // 5) + i} {3 * (b * 37 % 500) + j} 1\n" for b in range(2500) for i in (1, 2, 3) for j in (1, 2, 3)))
    call = ("plan", "y(i) = A(i,j) * x(j)", "A=blocks.tns:1500x1500", "x=ones(1500)", "--calls", "100000", "--prove", "--json")
    first, again = (json.loads(weft(*call).out) for _ in range(2))
    claims = [next(line for line in report["explanation"]["search"] if "Nor does a schedule over any of " in line) for report in (first, again)]
    require_in(" other choices of layouts and ways to read them, conversions included: ", claims[0], "the claim")
    require_equal(claims[1], claims[0], "the claim of a plan that is remembered")
    require_equal((first["plan"]["optimal"], first["cache"]["plan"], again["plan"]["optimal"], again["cache"]["plan"]), ("all", "miss", "all", "hit"), "both")
    require_in("A is stored in ", first["explanation"]["search"][0], "the layout")
    without = json.loads(weft(*call[:-2], "--json").out)
    require(first["plan"]["cost_ns"] <= without["plan"]["cost_ns"], "a proof finds nothing dearer")
    # Of layouts that are given the ways to read them.
    located = json.loads(weft("plan", "y(i) = A(i,j) * B(i,j)", "A=blocks.tns:1500x1500", "B=sparse(1500x1500,nnz=3000)", "--format", "A:bcsr(3,3)",
                              "--prove", "--json").out)
    require_in("Nor does a schedule over any of ", " ".join(located["explanation"]["search"]), "the claim")
    # Nothing is proposed: a proof is one of the operands as given.
    plain = json.loads(weft("plan", "y(i) = A(i,j) * x(j)", "A=blocks.tns:1500x1500", "x=ones(1500)", "--prove", "--json").out)
    require_equal(plain["plan"]["optimal"], "all", "as given")
    require("Nor does a schedule over" not in " ".join(plain["explanation"]["search"]), "as given")


def case_schedules_say_what_operands_are_stored_in(weft):
    weft.write("blocks.tns", "".join(f"{3 * (b // 5) + i} {3 * (b * 37 % 500) + j} 1\n" for b in range(2500) for i in (1, 2, 3) for j in (1, 2, 3)))
    weft.write("x.tns", "".join(f"{i} {'nan' if i == 7 else i}\n" for i in range(1, 1501)))
    text, matrix, vector = "y(i) = A(i,j) * x(j)", "A=blocks.tns:1500x1500", "x=ones(1500)"
    weft("plan", text, matrix, vector, "--calls", "100000", "--emit", "schedule=c", "--quiet")
    stored = next(line for line in weft.read("c").decode().splitlines() if line.startswith("  stored A (i,j) -> ("))
    require(stored.endswith(" f64 chosen"), stored)
    layout = stored[len("  stored A "):stored.rindex(")") + 1]
    for options in ([], ["--calls", "7"], ["--format", "A:" + layout]):
        weft("run", text, matrix, vector, *options, "--schedule", "c", "--emit", "schedule=again", "--quiet")
        require_equal(weft.text("again"), weft.text("c").replace(" chosen", "") if "--format" in options else weft.text("c"), "the text")
    weft("run", text, matrix, vector, "--format", "A:" + layout.replace("i", "row"), "--schedule", "c", "--quiet")
    report = json.loads(weft("run", text, matrix, vector, "--schedule", "c", "--json").out)
    require_equal(report["plan"]["schedule"], weft.text("c"), "the report's schedule")
    for other in ("bcsr(2,2)", "ds"):
        weft.error("run", text, matrix, vector, "--schedule", "c", "--format", "A:" + other,
                   says=["c: the schedule is for A in " + layout, "which is pinned to"])
    weft.error("run", text, matrix, "x=x.tns:1500", "--format", "x:d", "--schedule", "c", says="c: the schedule is for A in " + layout)
    for wrong, says in ((("A (", "Q ("), "no tensor is named so"), (("chosen", "chosen twice"), "schedule, line 2: unexpected text"),
                        (("j)", "j"), "schedule, line 2: "), (("f64", "f65"), "schedule, line 2: unknown scalar type")):
        weft.write("wrong", weft.text("c").replace(*wrong, 1))
        weft.error("run", text, matrix, vector, "--schedule", "wrong", says=["wrong: ", says])
    # Pinned ones and those of results, whatever way they are read.
    for formats in (["B:dia", "R:bcsr(2,2)"], ["A:bcsr(2,2)", "B:bcsr(3,3)"], ["A:sell(4)"], ["A:csb(4)"], ["R:dia"]):
        call = ["R(i,j) = A(i,j) * B(j,i)", "A=sparse(9x11,nnz=30)", "B=sparse(11x9,nnz=30,seed=2)"]
        pinned = [word for layout in formats for word in ("--format", layout)]
        weft("plan", *call, *pinned, "--emit", "schedule=s", "--quiet")
        weft("run", *call, *pinned, "--out", "R=planned.tns", "--quiet")
        weft("run", *call, "--schedule", "s", "--emit", "schedule=again", "--out", "R=again.tns", "--quiet")
        require_equal(weft.text("again"), weft.text("s"), "the text")
        require_equal(read_tns(weft.text("again.tns")), read_tns(weft.text("planned.tns")), "the result")
        require_equal(weft.text("s").count("  stored "), len(formats), "lines")
        # As texts were before they said so.
        weft.write("old", "".join(line for line in weft.text("s").splitlines(True) if "stored" not in line))
        weft("run", *call, *pinned, "--schedule", "old", "--emit", "schedule=again", "--quiet")
        require_equal(weft.text("again"), weft.text("s"), "of an old text")


def case_a_long_sparse_vector_is_looked_up_at_sums_of_digits(weft):
    """Few blocks beside many entries: laying these out anew takes longer than finding the ones that the blocks meet."""
    weft.write("blocks.tns", "".join(f"{4 * (b % 4) + i} {400 * (b // 4) + j} {i + j}\n" for b in range(200) for i in range(1, 5) for j in range(1, 5)))
    call = ["y(i) = A(i,j) * x(j)", "A=blocks.tns:16x100000", "x=sparse(100000,nnz=50000,seed=3)", "--format", "x:s", "--out", "y=y.tns"]
    weft("run", *call, "--quiet")
    plain = weft.text("y.tns")
    report = weft("run", *call, "--format", "A:bcsr(4,4)", "--json", "--explain", "--quiet").json
    require_equal(read_tns(weft.text("y.tns")), read_tns(plain), "the result")
    require_in("looked up at sums of digits", {each["name"]: each for each in report["explanation"]["layouts"]}["x"]["reason"], "how x is read")
    require_in("locate x(gallop j_0)", report["plan"]["loops"], "a cursor over all blocks of a row")
    cursor = [proof for proof in report["proofs"] if proof["kind"] == "cursor"]
    require_equal([(proof["verdict"], proof["skeleton"]) for proof in cursor], [("proven", "cursor from j_0")], "proofs")
    # Cut, located, two ways of copies, and this one.
    for calls in ("1", "10000"):
        claim = weft("plan", *call[:3], "--format", "x:s", "--format", "A:bcsr(4,4)", "--calls", calls, "--prove", "--explain").out
        require_in("Nor does a schedule over any of 4 other choices of layouts", claim, "what a proof looks at")


def case_wrong_schedules_over_layouts_are_wrong_in_the_reading_that_they_fit(weft):
    call = ["R(i,j) = A(i,j) * B(j,i)", "A=sparse(9x11,nnz=30)", "B=sparse(11x9,nnz=30)"]
    pinned = ["--format", "B:dia", "--format", "R:bcsr(2,2)"]
    weft("plan", *call, *pinned, "--emit", "schedule=s", "--quiet")
    right = weft.text("s")
    for text, options in ((right, []), ("".join(line for line in right.splitlines(True) if "stored" not in line), pinned)):
        weft.write("wrong", text.replace("loops i,j", "loops j,i"))
        weft.error("run", *call, *options, "--schedule", "wrong", says=["the root loop of nest 1 is 'j'", "    parallel i serial\n"])
    weft.write("blocks.tns", "".join(f"{3 * (b // 5) + i} {3 * (b * 37 % 500) + j} 1\n" for b in range(2500) for i in (1, 2, 3) for j in (1, 2, 3)))
    call = ["y(i) = A(i,j) * x(j)", "A=blocks.tns:1500x1500", "x=ones(1500)", "--calls", "100000"]
    weft("plan", *call, "--emit", "schedule=s", "--quiet")
    weft.write("wrong", "".join(line for line in weft.text("s").splitlines(True) if "stored" not in line).replace("parallel i", "parallel j"))
    weft.error("run", *call, "--schedule", "wrong", says="the root loop of nest 1 is 'i")


def case_results_do_not_depend_on_how_layouts_are_read(weft):
    """Zeros that a layout stores are entries, explicit ones of the data among them, in place, located or in a plain copy."""
    weft.write("A.tns", "1 1 5\n1 3 0\n3 4 2\n")
    weft.write("C.tns", "1 1 5\n1 2 1\n2 2 7\n3 3 2\n4 4 1\n")
    weft.write("x.tns", "1 2\n2 1\n3 inf\n4 1\n")
    for layout in ("ss", "bcsr(2,2)", "bcsr(1,2,unaligned)", "dia", "dia(2)", "ell", "vbl", "skyline", "band(1,3)", "upper",
                   "(i,j) -> (j-i:s, j:d)", "(i,j) -> (i:d, b:s, j-b:d(2))"):
        def entries(text, *more):
            operands = [f"{name}={name}.tns:{'4' if name == 'x' else '4x4'}" for name in "ACx" if name + "(" in text]
            weft("run", text, *operands, "--format", "A:" + layout, *more, "--out", "R=R.tns", "--quiet", "--no-cache")
            return weft.text("R.tns")
        for text in ("R(i,j) = A(i,j)", "R(j,i) = A(i,j)", "R(i,j) = A(i,j) * C(i,j)", "R(i,k) = A(i,j) * C(j,k)", "R(i,k) = C(i,j) * A(j,k)"):
            once, often = (entries(text, "--format", "R:ss", "--calls", calls) for calls in ("1", "100000"))
            require_equal(often, once, f"{text} in {layout}")
            require(text != "R(i,j) = A(i,j)" or "1 3 0\n" in once, f"the explicit zero is lost in {layout}")
        for kinds in ("s", "d"):
            sums = entries("R(i) = A(i,j) * x(j)", "--format", "x:" + kinds, "--format", "R:s")
            require("1 nan" in sums or "1 -nan" in sums, f"0 times infinity is lost in {layout}: {sums}")


def case_runs_below_a_sum_that_is_found_in_their_own_loop(weft):
    """j is a level of T1 below i+j: bound with it, where k is in an outer loop, so that no walk begins at j."""
    def result(layout):
        weft("run", "R(k) = (T0(k,j) * T1(j,k,i)) * T2(i,j)", "T0=uniform(3x4)", "T1=sparse(4x3x4,nnz=28,seed=1)", "T2=sparse(4x4,nnz=10,seed=3)",
             "--format", "T1:" + layout, "--format", "T2:ds", "--unfused", "--out", "R=R.tns", "--quiet", "--no-cache")
        return [[round(float(word), 9) for word in line.split()] for line in weft.text("R.tns").splitlines() if line[0] != "#"]
    require_equal(result("(i,j,k) -> (i+j:s, i:u, k:q)"), result("sss"), "summed by another order")


def case_a_loop_over_a_huge_extent_is_not_taken_to_be_never_reached(weft):
    """30 entries among 10^12 rows that are expected to meet none of 30 others, but meet all: located, B left a loop over all of its columns."""
    rows = [n * 33_333_333_331 + 1 for n in range(30)]
    weft.write("A.tns", "".join(f"{row} {row} 2\n" for row in rows))
    weft.write("B.tns", "".join(f"{row} {n * 99_999_989 + 1} 3\n" for n, row in enumerate(rows)))
    weft("run", "R(i,k) = A(i,j) * B(j,k)", f"A=A.tns:{10**12}x{10**12}", f"B=B.tns:{10**12}x{3 * 10**9}", "--format", "R:ss", "--format",
         "B:(i,j) -> (i/4:s, j/4:s, i%4:d, j%4:d)", "--out", "R=R.tns", "--quiet", "--no-cache")
    found = [line for line in weft.text("R.tns").splitlines() if line[0] != "#" and not line.endswith(" 0")]
    require_equal(found, [f"{row} {n * 99_999_989 + 1} 6" for n, row in enumerate(rows)], "the products")


def sums_of(weft, expression, operands, layout):
    """The sum of the result's entries, without and with a layout of A."""
    return [json.loads(weft(expression, *operands, "--json", *more).out)["results"][expression.split("(")[0].split(" ")[0]]["sum"]
            for more in ([], ["--format", f"A:{layout}"])]


def case_diagonals_beside_a_sparse_vector_are_no_neighbours(weft):
    """Long fibers beside a vector that fills the second cache are summed in gathered vectors, but not along a sum of indices."""
    for layout in ("dia", "(i,j) -> (j-i:s, j:d)", "(i,j) -> (i+j:s, i:d)"):
        for expression in ("y(j) = A(i,j) * x(i)", "y(i) = A(i,j) * x(j)"):
            given, laid_out = sums_of(weft, expression, ("A=sparse(1000x1000,nnz=20000)", "x=sparse(1000,nnz=20)"), layout)
            require(abs(given - laid_out) < 1e-9, f"{expression} over {layout}: {laid_out} instead of {given}")


def case_a_result_like_a_narrower_operand_keeps_its_type(weft):
    expression, operands = "R(i,j) = A(i,j) * X(j,i)", ("A=sparse(6x4,nnz=15,seed=2)", "X=uniform(4x6)")
    for layout in ("ss", "(i,j) -> (i/2:s, j/2:s, i%2:d, j%2:d)"):
        weft(expression, *operands, "--format", f"A:{layout}:f32", "--format", "R:like(A)", "--checked", "--out", "R=R.npy")
        require_in("<f8", pathlib.Path(weft.path("R.npy")).read_bytes()[:128].decode("latin-1"), f"the type over {layout}")


def case_a_band_that_is_located_leaves_out_what_is_beyond_it(weft):
    """Its levels are dense, and still there is no entry of the result beyond."""
    for expression, result, operands, stored in (
            ("C(i,j) = A(i,j) * B(i,j)", "C:ss", ("A=sparse(100x100,nnz=200)",), 90),
            ("Y(i) = A(i,j) * B(i,j)", "Y:s", ("A=sparse(100x100,nnz=60)",), 20),
            ("Y(i,r) = A(i,j) * B(i,j) * D(j,r)", "Y:sd", ("A=sparse(100x100,nnz=60)", "D=uniform(100x4)"), 80)):
        for more in ([], ["--calls", "1000000"]):
            report = json.loads(weft(expression, *operands, "B=sparse(100x100,nnz=1,seed=1)", "--format", "B:band(0,99)", "--format", result,
                                     "--json", *more).out)
            require_equal(report["results"][result[0]]["nnz"], stored, f"entries of {expression}")
    weft.write("A.tns", "100 1 1\n1 100 2\n")
    weft.write("B.tns", "1 2 1\n")
    weft.write("x.tns", "".join(f"{j} {'inf' if j == 1 else 1}\n" for j in range(1, 101)))
    report = json.loads(weft("C(i,j) = A(i,j) * B(i,j); y(i) = C(i,j) * x(j)", "A=A.tns:100x100", "B=B.tns:100x100", "x=x.tns:100",
                             "--format", "B:band(0,99)", "--format", "C:ss", "--format", "y:d", "--json").out)
    require_equal((report["results"]["C"]["nnz"], report["results"]["y"]["sum"]), (1, 0.0), "an absent entry annihilates")


def case_rows_side_by_side_read_a_matrix_at_another_column_each(weft):
    operands = ("A=sparse(8x10,nnz=16)", "B=uniform(10x8)", "x=ones(8)")
    for expression in ("s = B(j,i) * A(i,j) * x(i)", "y(i) = B(j,i) * A(i,j)"):
        given, laid_out = sums_of(weft, expression, operands if "x(" in expression else operands[:2], "sell(8)")
        require(abs(given - laid_out) < 1e-12, f"{expression}: {laid_out} instead of {given}")
    chosen = [json.loads(weft("y(i) = B(j,i) * A(i,j)", "A=sparse(1000x1000,nnz=30000)", "B=uniform(1000x1000)", "--calls", calls, "--json").out)
              for calls in ("1", "1000000")]
    require(abs(chosen[0]["results"]["y"]["sum"] - chosen[1]["results"]["y"]["sum"]) < 1e-9, "a layout that is chosen changes no result")


def case_results_in_blocks_are_computed_in_plain_rows_where_that_takes_less(weft):
    """In blocks of 5 x 5 there are 60 million pairs of block rows and block columns to go through, for 100 entries."""
    operand = "A=sparse(30000x50000,nnz=100,seed=1)"
    weft("run", "R(i,j) = A(i,j)", operand, "--format", "A:ds:1,0", "--format", "R:bcsr(5,5)", "--out", "R=R.tns", "--quiet", "--no-cache",
         "--emit", "schedule=s", "--json=r.json")
    told = "\n".join(json.loads(weft.text("r.json"))["explanation"]["search"])
    require_in("R is computed in plain levels and converted after every run", told, "why")
    weft("run", "R(i,j) = A(i,j)", operand, "--format", "R:ss", "--out", "R=plain.tns", "--quiet", "--no-cache")
    lines = [[line for line in weft.text(file).splitlines() if line[0] != "#" and not line.endswith(" 0")] for file in ("R.tns", "plain.tns")]
    require_equal(lines[0], lines[1], "the entries")
    # The schedule says it, so that it is read again without the formats.
    weft("run", "R(i,j) = A(i,j)", operand, "--format", "A:ds:1,0", "--schedule", "s", "--out", "R=again.tns", "--quiet", "--no-cache")
    require_equal(weft.text("again.tns"), weft.text("R.tns"), "by its schedule")


def case_matrices_of_one_row_or_column_have_layouts(weft):
    for layout in ("dia", "dia(4)", "band(1,2)", "(i,j) -> (j-i:s, i:d)", "(i,j) -> (j-i:s, j:s)", "(i,j) -> (i+j:s, j:d)", "(i,j) -> (2*i+j:s, j:s)"):
        for shape in ("12x1", "1x12", "2x1", "1x1"):
            require_in("proven: no coordinate has two places", weft("layout", layout, "--shape", shape).out, f"{layout} of {shape}")
    require_in("proven: no coordinate has two places", weft("layout", "(i,j,k) -> (i+j+k:s, i:s, j:s)", "--shape", "2x3x1").out, "a sum of three")


def case_blocks_of_a_huge_extent_are_copied_in_the_size_of_their_entries(weft):
    weft("plan", "R(i) = A(i,j,k) * T(i,j,k)", "A=sparse(2000000000000x100x100,nnz=2)", "T=sparse(2000000000000x100x100,nnz=2)", "--format",
         "A:hicoo(4)", "--format", "R:s", "--no-cache", "--memory-limit", "1G")


def case_results_may_say_a_mode_twice(weft):
    """Levels of a result that are sums of others, (i:d, j:s, i:d), are no digits: it is computed in plain levels and converted."""
    weft.write("A.tns", "1 2 3\n2 1 4\n2 3 5\n4 2 -1\n")
    for layout in ("(i,j) -> (i:d, j:s, i:d)", "(i,j) -> (i:d, j:s, i/2:s)", "(i,j) -> (j:s, i%2:d, i:s)"):
        weft("run", "Y(i,j) = A(i,j)", "A=A.tns:4x3", "--format", "Y:" + layout, "-o", "Y.tns", "--quiet")
        entries = [line for line in weft.text("Y.tns").splitlines() if line[0] != "#"]
        require_equal([line for line in entries if not line.endswith(" 0")], weft.text("A.tns").splitlines(), layout)
