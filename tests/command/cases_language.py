"""Both notations, and what is wrong in them."""

from evaluation import dense_operand, require_result, result_of, sparse_operand
from harness import pictured, require, require_equal, require_in
from tensors import Tensor, dense, evaluate

T = Tensor((3, 4, 5), {(0, 0, 0): 1.0, (0, 3, 4): 2.0, (1, 2, 3): 3.0, (2, 0, 1): -4.0, (2, 3, 4): 5.0})
B = dense((4, 2), range(1, 9))
C = dense((5, 2), range(2, 12))
D = dense((3, 3), range(1, 10))


def three(weft):
    return [sparse_operand(weft, "T", T), dense_operand(weft, "B", B), dense_operand(weft, "C", C)]


def cases_index_notation(_):
    wanted = "ijk,jr,kr->ir"
    texts = {
        "as documented": "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "brackets": "A[i,r] = T[i,j,k] * B[j,r] * C[k,r]",
        "mixed brackets": "A(i,r) = T[i,j,k] * B(j,r) * C[k,r]", "no spaces": "A(i,r)=T(i,j,k)*B(j,r)*C(k,r)",
        "many spaces": "  A ( i , r )  =\tT ( i,j ,k )*B(j , r) * C(k,r)  ", "long names": "A(row,rank_1) = T(row,j2,_k) * B(j2,rank_1) * C(_k,rank_1)",
        "other order": "A(i,r) = B(j,r) * C(k,r) * T(i,j,k)", "separator at the end": "A(i,r) = T(i,j,k) * B(j,r) * C(k,r);",
        "new line at the end": "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)\n",
        "pinned left": "A(i,r) = (T(i,j,k) * C(k,r)) * B(j,r)", "pinned right": "A(i,r) = T(i,j,k) * (C(k,r) * B(j,r))",
        "pinned n-ary": "A(i,r) = (T(i,j,k) * C(k,r) * B(j,r))", "redundant": "A(i,r) = ((T(i,j,k))) * ((C(k,r)) * (B(j,r)))",
    }
    for what, text in texts.items():
        def one(weft, text=text):
            require_result(result_of(weft, text, *three(weft)), evaluate(wanted, T, B, C))
        yield what, one


def cases_coefficient(_):
    for text, value in (("2 * B(j,r)", 2), ("-B(j,r)", -1), ("B(j,r) * -2", -2), ("- -B(j,r)", 1), ("0.5 * 4 * B(j,r) * 3", 6), ("2e1*B(j,r)", 20),
                        ("(2 * B(j,r))", 2), ("-(B(j,r) * 3)", -3), ("+2 * B(j,r)", 2), ("0 * B(j,r)", 0), (".5*B(j,r)", 0.5)):
        def one(weft, text=text, value=value):
            require_result(result_of(weft, f"A(j,r) = {text}", dense_operand(weft, "B", B)), evaluate("jr->jr", B, coefficient=float(value)))
        yield text, one


def cases_scalar_result(_):
    for text in ("a = B(j,r) * B(j,r)", "a() = B(j,r) * B(j,r)", "a[] = B[j,r]*B[j,r]"):
        def one(weft, text=text):
            require_equal(result_of(weft, text, dense_operand(weft, "B", B), name="a"), {(): 204.0}, "value")
        yield text, one


def cases_einsum(_):
    for text, explicit, operands in (
            ("ijk,jr,kr->ir", "ijk,jr,kr->ir", "TBC"), (" ijk, jr ,kr -> ir ", "ijk,jr,kr->ir", "TBC"), ("Zjk,jR,kR->RZ", "Zjk,jR,kR->RZ", "TBC"),
            ("ijk->kji", "ijk->kji", "T"), ("ijk", "ijk->ijk", "T"), ("kji", "kji->ijk", "T"), ("bAc", "bAc->Abc", "T"), ("ij,jk", "ij,jk->ik", "DD"),
            ("ii", "ii->", "D"), ("ii->i", "ii->i", "D"), ("ij->", "ij->", "D"), ("ab,bC", "ab,bC->Ca", "DD"), ("ij,ij->ij", "ij,ij->ij", "DD"),
            ("i,ij", "i,ij->j", "vD"), ("ij->i", "ij->i", "D"), ("->", "->", "s"), (",->", ",->", "ss"), (",i", ",i->i", "sv")):
        def one(weft, text=text, explicit=explicit, operands=operands):
            tensors = {"T": T, "B": B, "C": C, "D": D, "v": dense((3,), [1, 2, 3]), "s": dense((), [4])}
            given = []
            for number, name in enumerate(operands):
                write = sparse_operand if name == "T" else dense_operand
                given.append(write(weft, f"X{number}", tensors[name]).partition("=")[2])
            found = result_of(weft, text, *given, name="out")
            require_result(found, evaluate(explicit, *[tensors[name] for name in operands]))
        yield text, one


def case_negative_scalars_are_no_options(weft):
    require_equal(result_of(weft, ",->", "-2", "-.5", name="out"), {(): 1.0}, "product")
    require_equal(result_of(weft, "->", "-1e3", name="out"), {(): -1000.0}, "value")
    for text in ("-inf", "-Infinity"):
        require_equal(result_of(weft, "->", text, name="out"), {(): float("-inf")}, text)
    run = weft("run", "->", "-3", "--json")
    require_equal(run.json["expression"], "->", "expression")


def case_einsum_names(weft):
    given = [operand.partition("=")[2] for operand in three(weft)]
    run = weft("run", "ijk,jr,kr->ir", given[0], f"M={given[1]}", given[2], "--json")
    require_equal(sorted(run.json["operands"]), ["M", "T0", "T2"], "names of operands")
    require_equal(list(run.json["results"]), ["out"], "names of results")


def case_tree_uses_written_names(weft):
    run = weft("run", "A(i,r) = (T(i,j,k) * C(k,r)) * B(j,r)", *three(weft), "--json")
    require_equal(run.json["tree"], "((T * C) * B)", "tree")
    run = weft("run", "A(i,r) = (T(i,j,k) * C(k,r) * B(j,r))", *three(weft), "--json")
    require_equal(run.json["tree"], "(T * C * B)", "tree")


def case_indices_are_separate_from_tensors(weft):
    require_result(result_of(weft, "A(T,B) = T(T,B,A)", sparse_operand(weft, "T", T)), evaluate("ijk->ij", T))


def cases_not_yet(_):
    for what, text, feature in (("plus", "A(i,j) = D(i,j) + D(j,i)", "sum"), ("minus", "A(i,j) = D(i,j) - D(j,i)", "sum"),
                                ("plus in parentheses", "A(i,j) = 2 * (D(i,j) + D(j,i))", "sum"), ("ellipsis", "...j->...", "..."),
                                ("division", "A(i,j) = D(i,j) / 2", "division"), ("compound assignment", "A(i,j) += D(i,j)", "+=")):
        def one(weft, text=text, feature=feature):
            operand = dense_operand(weft, "D", D)
            weft.error("run", text, operand if "." not in text else operand.partition("=")[2], status=3, says=feature)
            weft.error("plan", text, operand if "." not in text else operand.partition("=")[2], status=3, says=feature)
        yield what, one


def case_extents_disagree(weft):
    """The picture of the interface; a caret stands below each index concerned."""
    text = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)"
    run = weft.error("run", text, "T=sparse(10x20x300,nnz=5)", "B=uniform(20x2)", "C=uniform(299x2)",
                     says="error: index k is 300 in T (mode 2) but 299 in C (mode 0)\n")
    pictured(run, text, [text.index("k"), text.rindex("k")])


def case_extents_disagree_in_einsum(weft):
    run = weft.error("run", "ij,jk->ik", "uniform(2x3)", "M=uniform(4x5)", says="index j is 3 in T0 (mode 1) but 4 in M (mode 0)")
    pictured(run, "ij,jk->ik", [1, 3])


def case_extents_disagree_on_a_diagonal(weft):
    run = weft.error("run", "a = D(i,i)", "D=uniform(3x4)", says="index i is 3 in D (mode 0) but 4 in D (mode 1)")
    pictured(run, "a = D(i,i)", [6, 8])


def case_extent_1_is_not_broadcast(weft):
    weft.error("run", "ij,j->i", "uniform(3x4)", "uniform(1)", says="j")
    weft.error("run", "ii->i", "uniform(1x4)", says="i")


def cases_wrong(_):
    d = "D=uniform(3x3)"
    for what, arguments, says, columns in (
            ("operand given twice", ["A(i,j) = D(i,j)", d, "D=ones(3x3)"], "D", None),
            ("operand missing", ["A(i,k) = D(i,j) * E(j,k)", d], "E", [18]),
            ("operand not used", ["A(i,j) = D(i,j)", d, "E=ones(3x3)"], "E", None),
            ("index twice in the result", ["A(i,i) = D(i,j)", d], "i", [2, 4]),
            ("index twice in the result of einsum", ["ij->ii", "uniform(3x3)"], "i", [4, 5]),
            ("result named like an operand", ["D(i,j) = D(i,j)", d], "D", [0]),
            ("result of einsum named like an operand", ["ij->ji", "out=uniform(3x3)"], "out", None),
            ("bare operand with index notation", ["A(i,j) = D(i,j)", "uniform(3x3)"], "NAME=SPEC", None),
            ("index only in the result", ["A(i,z) = D(i,j)", d], "z", [4]),
            ("index only in the result of einsum", ["ij->iz", "uniform(3x3)"], "z", [5]),
            ("wrong number of indices", ["A(i) = D(i,j,k)", d], "D", [7]),
            ("too few operands of einsum", ["ij,jk->ik", "uniform(3x3)"], "operand", [3]),
            ("too many operands of einsum", ["ij->ij", "uniform(3x3)", "uniform(3x3)"], "operand", None),
            ("empty expression", ["", d], "expression", None), ("no right side", ["A(i) =", d], "", [6]),
            ("no star", ["A(i,j) = D(i,j) D(i,j)", d], "*", [16]), ("unclosed", ["A(i,j) = D(i,j", d], "closed", [10, 14]),
            ("wrong bracket", ["A(i,j) = D(i,j]", d], "closed", [10, 14]), ("bad character", ["A(i,j) = D(i,j) $ 2", d], "$", [16]),
            ("name with a digit first", ["A(i,j) = 2D(i,j)", d], "2", None), ("two stars", ["A(i,j) = D(i,j) ** 2", d], "*", [17]),
            ("no result", ["= D(i,j)", d], "result", [0]), ("number as index", ["A(i) = D(i,3)", d], "index", [11]),
            ("assigned twice", ["A(i,j) = D(i,j); A(i,j) = D(j,i)", d], "twice", [0, 17]),
            ("used before assigned", ["A(i,j) = S(i,j); S(i,j) = D(i,j)", d], "before", [9]),
            ("einsum with a digit", ["i1->i", "uniform(3x3)"], "1", [1]), ("two arrows", ["ij->i->j", "uniform(3x3)"], "->", [2, 5])):
        def one(weft, arguments=arguments, says=says, columns=columns):
            run = weft.error("run", *arguments, says=says)
            if columns is not None:
                pictured(run, arguments[0], columns)
            plan = weft.error("plan", *arguments, says=says)
            require_equal(plan.err, run.err, "the message of weft plan")
        yield what, one


def case_wrong_operand_comes_before_reading(weft):
    """An error in the expression does not wait for files."""
    weft.error("run", "A(i,j) = D(i,j) * E(i,j)", "D=absent.tns", says="E")


def case_missing_operands_are_all_named(weft):
    run = weft.error("run", "A(i,k) = D(i,j) * E(j,k) * F(i,k)", "D=uniform(3x3)", says=["E", "F"])
    pictured(run, "A(i,k) = D(i,j) * E(j,k) * F(i,k)", [18, 27])


def case_error_of_a_later_line_shows_that_line(weft):
    run = weft.error("run", "S(i,j) = D(i,j)\nA(i,k) = S(i,j) * D(j,j,k)", "D=uniform(3x3)", "--quiet", says="2 modes")
    pictured(run, "A(i,k) = S(i,j) * D(j,j,k)", [18])
    run = weft.error("run", "\n\nA(i,k) = D(i,j,k)", "D=uniform(3x3)")
    pictured(run, "A(i,k) = D(i,j,k)", [9])


def case_factors_without_shared_indices(weft):
    found = result_of(weft, "ij,kr->ijkr", "D=ones(2x2)", "E=ones(2x3)", name="out")
    require_equal(len(found), 24, "entries")


def case_sixteen_factors(weft):
    operand = dense_operand(weft, "D", dense((2, 2), [1, 1, 0, 1]))
    letters = "abcdefghijklmnopq"
    text = "A(a,q) = " + " * ".join(f"D({letters[n]},{letters[n + 1]})" for n in range(16))
    require_equal(result_of(weft, text, operand), {(0, 0): 1.0, (0, 1): 16.0, (1, 1): 1.0}, "the power of a matrix")


def case_message_says_what_to_do(weft):
    run = weft.error("run", "A(i,k) = D(i,j) * E(j,k)", "D=uniform(3x3)")
    require("E=" in run.err, f"the message shows how to give the operand: {run.err!r}")
