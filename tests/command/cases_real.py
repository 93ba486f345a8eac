"""Real tensors, and the one that is shipped. Downloaded ones: WEFT_DATA names their directory."""

import os
import pathlib

from harness import Skip, require, require_equal

SHIPPED = pathlib.Path(__file__).parents[2] / "samples" / "data"


def downloaded(name):
    directory = os.environ.get("WEFT_DATA")
    if not directory:
        raise Skip("WEFT_DATA is not set")
    path = os.path.join(directory, name)
    if not os.path.exists(path):
        raise Skip(f"{path} is not there")
    return os.path.abspath(path)


def case_shipped_tensor(weft):
    files = sorted(SHIPPED.glob("*.tns.zst"))
    require(files, f"a tensor is shipped in {SHIPPED}")
    report = weft("run", "a = T(i,j,k,l)", f"T={files[0]}", "--json").json
    require_equal(report["operands"]["T"]["nnz"], 2607931, "nonzeros")
    require_equal(report["results"]["a"]["sum"], 3000000.0, "flights")


def case_mttkrp_of_the_shipped_tensor(weft):
    files = sorted(SHIPPED.glob("*.tns.zst"))
    expression = "A(i,r) = T(i,j,k,l) * B(j,r) * C(k,r) * D(l,r)"
    operands = [f"T={files[0]}", "B=ones(229x8)", "C=ones(182x8)", "D=ones(24x8)"]
    report = weft("run", expression, *operands, "--json").json
    require_equal(report["results"]["A"]["extents"], [229, 8], "extents")
    require_equal(report["results"]["A"]["sum"], 8 * 3000000.0, "every flight counted 8 times")


def case_order_4_with_a_product_of_extents_above_64_bits(weft):
    path = downloaded("debian_contents.tns.zst")
    report = weft("run", "a = T(i,j,k,l)", f"T={path}", "--json").json
    require_equal(report["results"]["a"]["sum"], 7362379.0, "sum")


def case_pattern_symmetric_matrix(weft):
    path = downloaded("mdual.mtx.zst")
    report = weft("run", "d(i) = M(i,j)", f"M={path}", "--json").json
    require_equal((report["operands"]["M"]["nnz"], report["results"]["d"]["sum"]), (1026264, 1026264.0), "edges")


def case_complex_matrix(weft):
    weft.error("info", downloaded("mhd1280b.mtx.zst"), status=3, says="mhd1280b.mtx.zst")
