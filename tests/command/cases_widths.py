"""Extents beyond 2^32: coordinates of every width come out as they went in, and what would be dense over them is refused."""

from harness import require_equal, require_in

EXTENTS = [2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**40, 2**62]
FORMATS = ["ss", "ss:1,0", "ds", "uq", "uq:1,0", "hs", "sh", "hh:1,0", "bs", "hs:1,0"]


def entries(text):
    """The lines of a .tns file, coordinates as numbers."""
    listed = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            *at, value = line.split()
            at = tuple(int(part) for part in at)
            require_equal(at in listed, False, f"{at} is stored twice")
            listed[at] = float(value)
    return listed


def wide_vector(weft, extent):
    weft.write("V.tns", f"1 1 1\n1 {extent} 2\n")
    return f"V=V.tns:1x{extent}"


def wide_matrices(weft, extent):
    """A of 2 x 2, B of 2 x extent, and their product."""
    weft.write("A.tns", "1 1 1\n1 2 1\n2 2 1\n")
    weft.write("B.tns", f"1 2 1\n1 {extent} 10\n2 {extent - 1} 100\n2 3 5\n")
    product = {(1, 2): 1, (1, extent): 10, (1, extent - 1): 100, (1, 3): 5, (2, extent - 1): 100, (2, 3): 5}
    return ["A=A.tns:2x2", f"B=B.tns:2x{extent}"], product


def cases_a_copy_keeps_its_coordinates(_):
    for extent in EXTENTS:
        for options in ([], ["--checked"], ["--threads", "2"]):
            def case(weft, extent=extent, options=options):
                weft("run", "F(L) = V(u,L)", wide_vector(weft, extent), "--out", "F=f.tns", *options)
                require_equal(entries(weft.text("f.tns")), {(1,): 1, (extent,): 2}, "F")
            yield f"{extent} {' '.join(options)}", case


def cases_what_is_stored_between_nests_keeps_them(_):
    for extent in EXTENTS:
        for options in (["--unfused"], ["--unfused", "--checked"], []):
            def case(weft, extent=extent, options=options):
                run = weft("run", "F(L) = V(u,L); s = F(L) * F(L)", wide_vector(weft, extent), "--json", *options)
                require_equal(run.json["results"]["s"]["sum"], 5, "s")
            yield f"{extent} {' '.join(options)}", case


def cases_a_converted_operand_keeps_them(_):
    for extent in EXTENTS:
        def case(weft, extent=extent):
            operands, product = wide_matrices(weft, extent)
            run = weft("run", "s = (A(i,k) * B(k,L)) * (A(i,m) * B(m,L))", *operands, "--json")
            require_equal(run.json["results"]["s"]["sum"], sum(value**2 for value in product.values()), "s")
        yield extent, case


def cases_products_in_every_format_that_can_hold_them(_):
    for extent in EXTENTS:
        for form in FORMATS:
            def case(weft, extent=extent, form=form):
                operands, product = wide_matrices(weft, extent)
                weft("run", "F(u,L) = A(u,k) * B(k,L)", *operands, "--format", f"F:{form}", "--out", "F=f.tns")
                require_equal(entries(weft.text("f.tns")), product, "F")
            yield f"{extent} {form}", case


def case_a_hashed_vector(weft):
    for extent in EXTENTS:
        operands, product = wide_matrices(weft, extent)
        weft("run", "F(L) = A(u,k) * B(k,L)", *operands, "--format", "F:h", "--out", "F=f.tns", "--checked")
        sums = {}
        for (_, column), value in product.items():
            sums[column,] = sums.get((column,), 0) + value
        require_equal(entries(weft.text("f.tns")), sums, f"F of extent {extent}")


def case_operands_in_other_formats(weft):
    for extent in EXTENTS:
        for form in ("ss:1,0", "uq", "hh", "sh:1,0", "ds"):
            operands, product = wide_matrices(weft, extent)
            weft("run", "F(u,L) = A(u,k) * B(k,L)", *operands, "--format", f"B:{form}", "--out", "F=f.tns")
            require_equal(entries(weft.text("f.tns")), product, f"F of extent {extent}, B {form}")


def cases_what_is_dense_over_them_is_refused(_):
    for extent in (2**40, 2**62, 2**63 - 1):
        for form in ("dd", "sd", "ds:1,0", "db", "sb"):
            def case(weft, extent=extent, form=form):
                operands, _ = wide_matrices(weft, extent)
                run = weft.error("run", "F(u,L) = A(u,k) * B(k,L)", *operands, "--format", f"F:{form}", status=5)
                require_in("bytes", run.err, "the message")
            yield f"{extent} {form}", case


def case_the_largest_extent(weft):
    for extent, status in ((2**63 - 1, 0), (2**63, 2)):
        weft.write("v.tns", f"1 1\n{extent} 2\n")
        run = weft("run", "s = v(i)", "v=v.tns", status=status)
        says = "3" if status == 0 else f"v.tns:2: coordinate {extent} in mode 0 is above 2^63 - 1"
        require_in(says, run.out + run.err, "what is said")


def cases_workspaces_over_all_of_them_are_refused(_):
    for kind, says in (("accumulator", "bytes"), ("bitmap", "use hashed"), ("hashed", "")):
        def case(weft, kind=kind, says=says):
            extent = 2**40
            operands, product = wide_matrices(weft, extent)
            weft.write("plan.txt", "schedule\n  tree (A * B)\n  layout A ss:0,1 f64\n  layout B ss:0,1 f64 bits 32/32,32/64\n"
                       "  result F ss:0,1 f64\n"
                       f"  F[u,L] += A[u,k] * B[k,L]   loops u,k,L   drained {kind}\n  parallel u owner\n")
            arguments = ["run", "F(u,L) = A(u,k) * B(k,L)", *operands, "--format", "F:ss", "--schedule", "plan.txt", "--out", "F=f.tns"]
            if says:
                weft.error(*arguments, status=5 if says == "bytes" else 2, says=says)
            else:
                weft(*arguments)
                require_equal(entries(weft.text("f.tns")), product, "F")
        yield kind, case


def case_a_session_binds_tensors_of_other_extents(weft):
    weft.write("small.tns", "1 1 1\n1 3 2\n")
    weft.write("large.tns", "1 1 1\n1 4294967297 2\n")
    weft.write("script.weft", "V = small.tns; F(L) = V(u,L); s = F(L) * F(L)\ns\nV = large.tns; F(L) = V(u,L); s = F(L) * F(L)\ns\n")
    run = weft("repl", "script.weft")
    require_equal([float(line) for line in run.out.split() if line.replace(".", "").isdigit()].count(5.0) >= 2, True, run.out)


def case_sums_of_levels_beyond_what_loops_say_are_read_through_copies(weft):
    """Diagonals of extents from 2^62 on, or moved by more than 2^31 columns a row, are no sums of loop programs."""
    weft.write("B.tns", "1 1 2\n2 5 3\n")
    weft.write("G.tns", "1 1 1\n1 5 2\n")
    for extent in (2**62 - 1, 2**62, 2**63 - 1):
        b, g = f"B=B.tns:2x{extent}", f"G=G.tns:1x{extent}"
        for layout in ("dia", "(i,j) -> (i+j:s, i:s)", "(i,j) -> (j-5000000000*i:s, i:s)"):
            run = weft("run", "F(k,m) = B(k,L) * G(m,L)", b, g, "--format", f"G:{layout}", "--out", "tns:F.tns")
            require_equal(weft.read("F.tns").decode().split("\n")[-3:], ["1 1 2", "2 1 6", ""], f"{extent} {layout}: {run.out}")
    weft.write("H.tns", "1 1 1\n2 5 2\n")
    run = weft("run", "F(k,m) = B(k,L) * H(m,L)", f"B=B.tns:2x{2**62}", f"H=H.tns:2x{2**62}", "--format", "H:dia", "--out", "tns:F.tns")
    require_equal(weft.read("F.tns").decode().split("\n")[-3:], ["1 1 2", "2 2 6", ""], run.out)
