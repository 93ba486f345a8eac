"""einsum against numpy's: every form, every mix of dense and sparse operands."""

import numpy as np
import pytest
import scipy.sparse as sp

import weft

# The expressions of opt_einsum's tests (test_contract.py), with the extents that they have there.
EXTENTS = dict(zip("abcdefghijABC", [2, 3, 4, 5, 4, 3, 2, 6, 5, 4, 3, 2, 6]))
OPT_EINSUM = """
a,ab,abc->abc  a,b,ab->ab  a,ab,ab->  ea,fb,gc,hd,abcd->efgh  abc,bca->  ba,ab-> 
dcc,fce,ea,dbf->ab  fae,bc,cd->  ebb,ff,eba->ab  ab,bc->ac  ab,cd,ef->  ab,cd,de->abcde  ab,ab,c->c 
ab,cd,cd,ef,ef->  ab,cd,cd,ef->  acdf,jbje,gihb,hfac,gfac,gifabc,hfac  abhe,hidj,jgba,hiab,gab 
bde,cdh,agdb,hica,ibd,hgicd,hiac  chd,bde,agbc,hiad,hgc,hgi,hiad  chd,bde,agbc,hiad,bdi,cgh,agdb 
bdhe,acad,hiab,agac,hibd  ab,ab,c->  ab,ab,c->c  ab,ab,cd,cd->  ab,ab,cd,cd->ac  ab,ab,cd,cd->cd  ab,ab,cd,cd,ef,ef-> 
ab,cd,ef->abcdef  ab,cd,ef->acdf  ab,cd,de->be  ab,bcd,cd->abcd  ab,bcd,cd->abd 
eb,cb,fb->cef  dd,fb,be,cdb->cef  bca,cdb,dbf,afc->  dcc,fce,ea,dbf->ab  fdf,cdd,ccd,afe->ae  abcd,ad  ed,fcd,ff,bcf->be 
baa,dcf,af,cde->be  bd,db,eac->ace  fff,fae,bef,def->abd  efc,dbc,acf,fd->abe 
ba,ac,da->bcd  ab,ab  ab,ba  abc,abc  abc,bac  abc,cba  ab,bc  ab,cb  ba,bc  ba,cb  abcd,cd  abcd,ab  abcd,cdef  abcd,cdef->feba 
abcd,efdc  aab,bc->ac  ab,bcc->ac  aab,bcc->ac  baa,bcc->ac  aab,ccb->ac  aab,fa,df,ecc->bde  ecb,fef,bad,ed->ac 
bcf,bbb,fbf,fc->  bb,ff,be->e  bcb,bb,fc,fff->  fbb,dfd,fc,fc->  afd,ba,cc,dc->bf  adb,bc,fa,cfc->d  bbd,bda,fc,db->acf 
dba,ead,cad->bce  aef,fbc,dca->bde
""".split()


def built(expression, seed=11):
    """Dense operands of small integers, half of them zero."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-2, 3, [EXTENTS[letter] for letter in term]).astype(float) * rng.integers(0, 2,
                                                                                                   [EXTENTS[letter] for letter in term])
            for term in expression.split("->")[0].split(",")]


def sparse_of(dense, kind):
    if dense.ndim == 2:
        return [sp.csr_matrix, sp.csc_array, sp.coo_matrix][kind % 3](dense)
    return weft.tensor(dense, format="s" * dense.ndim) if dense.ndim else dense


def as_dense(result):
    return result.toarray() if sp.issparse(result) else np.asarray(result)


@pytest.mark.parametrize("expression", sorted(set(OPT_EINSUM)))
def test_expressions_of_opt_einsum(expression):
    dense = built(expression)
    expected = np.einsum(expression, *dense, optimize=True)
    for kinds in ["all dense", "all sparse", *range(2)]:
        operands = [each if kinds == "all dense" or kinds != "all sparse" and (number + kinds) % 2 else sparse_of(each, number)
                    for number, each in enumerate(dense)]
        assert np.array_equal(as_dense(weft.einsum(expression, *operands)), expected), kinds


A, B, T, v = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) % 5, np.arange(24.0).reshape(2, 3, 4) % 7, np.arange(3.0)
FORMS = [
    ("ij,jk", A, B), ("ij, jk -> ik", A, B), ("ij", A), ("ji", A), ("ii", np.eye(4)), ("ii->i", np.eye(4)), ("i->", v), ("i,i", v, v),
    ("...", A), ("...->...", A), ("i...->...", T), ("...i->i...", T), ("...ij,...jk->...ik", T, np.ones((2, 4, 5))),
    ("...j,j", T.swapaxes(1, 2), v), ("ij...,jk...->ik...", T, np.ones((3, 2, 4))), ("...ij,jk->...ik", np.ones((5, 2, 2, 3)), B),
    ("i...,j...", v, v), ("...,...", A, A), ("...,...", A, 2.0), (",ij", 3.0, A), ("ij,", A, 3), (",", 2.0, 3.0), ("->", 3.0), ("", 2.5),
    ("aA,Ab", A, B), ("bA", A), ("Ba,Ac", A, A), ("i,j->ij", v, v), ("i,j,k->kij", v, v, v), ("ijk->kji", T), ("...k->...", T),
    ("i...i", np.ones((3, 2, 3))), ("i...i->i...", np.ones((3, 2, 3))),
    (A, [0, 1], B, [1, 2]), (A, [0, 1], B, [1, 2], [2, 0]), (A, [5, 3]), (A, [0, 1], []), (T, [0, Ellipsis], [Ellipsis, 0]),
    (T, [Ellipsis, 0], v, [1], [1, 0, Ellipsis]), (v, [0], v, [0]), (np.eye(3), [0, 0]), (A, [0, 1], [1, 0]), (A, (0,
                                                                                                                   1), B, np.array([1, 2])),
    (A, [0, 1], np.array([1, 0])), (A, np.array([0, 1]), np.array([1])), (A, [0, 1], np.array([], int)),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: str([each if isinstance(each, (str, list)) else "_" for each in form]))
def test_forms_of_numpy(form):
    expected = np.einsum(*form)
    result = weft.einsum(*form)
    assert np.array_equal(as_dense(result), expected) and result.shape == expected.shape and result.dtype == np.float64
    if expected.ndim:
        out = np.empty(expected.shape)
        assert weft.einsum(*form, out=out) is out and np.array_equal(out, expected)
        single = weft.einsum(*form, dtype=np.float32)
        assert single.dtype == np.float32 and np.array_equal(as_dense(single), expected.astype("f4"))


def test_formats_of_the_result():
    S = sp.random(40, 30, 0.2, format="csr", random_state=2)
    S.data = np.round(S.data * 8)
    dense = S.toarray()
    for format in ("ds", "dd", "ss", "ds:1,0", "out:ds", {"out": "ss"}, ["out:dd"], "T0:ss"):
        assert np.array_equal(as_dense(weft.einsum("ij,kj->ik", S, S, format=format)), dense @ dense.T)
    assert sp.isspmatrix_csr(weft.einsum("ij,kj->ik", S, S, format="ds"))
    assert weft.einsum("ij,kj->ik", S, S, format="ds", dtype="f4").dtype == np.float32
    assert weft.einsum("ijk->kj", T, tree="T0").shape == (4, 3)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("of", ["f4", "f8"])
def test_a_type_leaves_the_format(dtype, of):
    S = sp.random(50, 60, 0.02, format="csr", random_state=2, dtype=of)
    U = weft.sparse(20, 30, 40, nnz=30, seed=1, dtype=of)
    X = np.ones((60, 3), of)
    for form in [("ij->ji", S), ("ij,kj", S, S), ("ij->i", S), ("ij,jk->ik", S, X), ("ij->", S), ("ijk->kji", U), ("ijk->k", U)]:
        plain, typed = weft.einsum(*form), weft.einsum(*form, dtype=dtype)
        assert type(typed) is type(plain) or np.ndim(plain) == 0
        assert getattr(typed, "format", "") == getattr(plain, "format", "") and typed.dtype == dtype
        assert np.allclose(as_dense(typed), as_dense(plain), rtol=1e-6)
    assert weft.einsum("ij,jk,kl", S, S.T, S, tree="(T0 * (T1 * T2))", dtype=dtype).dtype == dtype
    assert weft.evaluate("B(i,j) = S(i,j)", S=S, format={"B": ":f32"}).format == "csr"


def test_a_type_beside_types_of_others():
    torch = pytest.importorskip("torch")
    for of in (torch.float32, torch.float64):
        made = weft.einsum("ij->i", torch.ones(2, 3, dtype=of), dtype="f4")
        assert made.dtype == np.float32 and made.tolist() == [3, 3]


@pytest.mark.parametrize("wrong", [
    ("ij,jk", A), ("ij", A, A), ("ijk", A), ("i", A), ("ij->ii", A), ("ij->k", A), ("ij,jk", A, A), ("i1", A),
    ("ij->jk->i", A), ("...i..", A),
    ("ij.", A), ("....", A), ("ij->i...j...", A), ("i...->i", T), ("ij,ik->", A, np.ones((3, 2))), (A,), (A, [0, "x"]), (A, 3),
    (A, [0, 1], B), ("ij",), ("ij(", A), ("a;b", v, v), ("...ijkl", A),
], ids=str)
def test_mistakes(wrong):
    with pytest.raises((ValueError, TypeError)) as caught:
        weft.einsum(*wrong)
    assert len(str(caught.value)) > 10
    assert np.array_equal(weft.einsum("ij,jk", A, B), A @ B)


def test_operands_where_a_list_of_indices_is_wanted():
    for wrong, told in [((A, [0, 1], B), r"not an array of shape \(3, 4\)"), ((A, [0, 1], v), "an index is a number"),
                        ((A, B), r"not an array of shape \(3, 4\)"), ((A, [0, 1], sp.csr_array(B)), "not an array of shape")]:
        with pytest.raises(weft.InputError, match=told):
            weft.einsum(*wrong)


def test_extents_of_one_are_not_stretched():
    with pytest.raises(weft.InputError, match="1 in"):
        weft.einsum("ij,ij->ij", A, np.ones((1, 3)))
    with pytest.raises(weft.InputError, match="1 in"):
        weft.einsum("...j,...j->...j", A, np.ones((1, 3)))


def test_what_the_language_has_not_yet():
    for option in ({"semiring": "min.plus"}, {"where": "i"}):
        with pytest.raises(weft.UnsupportedError):
            weft.einsum("ij,jk", A, B, **option)
    with pytest.raises(weft.UnsupportedError):
        weft.einsum("ij,jk", A, B, dtype=int)
    with pytest.raises(TypeError):
        weft.einsum("ij,jk", A, B, optimise=True)


def test_many_operands():
    for count in (2, 5, 8):
        operands = [np.eye(2) * 2] * count
        letters = "abcdefghijklmn"
        expression = ",".join(letters[n:n + 2] for n in range(count)) + f"->a{letters[count]}"
        assert np.array_equal(weft.einsum(expression, *operands), np.eye(2) * 2.0**count)


def test_random_expressions():
    """Seeded; the expression is in the message of a failure."""
    rng = np.random.default_rng(20)
    for draw in range(120):
        letters = "abcde"[: rng.integers(1, 6)]
        terms = ["".join(rng.choice(list(letters), rng.integers(0, 4))) for _ in range(rng.integers(1, 4))]
        used = sorted(set("".join(terms)))
        result = "".join(rng.permutation([letter for letter in used if rng.integers(0, 2)]))
        expression = ",".join(terms) + "->" + result
        dense = built(expression, draw)
        operands = [sparse_of(each, draw) if rng.integers(0, 2) else each for each in dense]
        assert np.array_equal(as_dense(weft.einsum(expression, *operands)), np.einsum(expression, *dense)), (draw, expression)


def test_one_object_in_several_places_is_read_once():
    A = sp.random(30, 30, density=0.2, format="csr", random_state=1)
    D, x = A.toarray(), np.arange(30.0)
    dense = lambda operand: operand.toarray() if sp.issparse(operand) else operand  # noqa: E731
    for subscripts, operands in [("ij,ij->", (A, A)), ("ij,ij", (A, A)), ("ij,jk", (A, A)), ("ij,kj->ik", (A, A)), ("i,i", (x, x)),
                                 ("i,ij,j", (x, A, x)), ("ij , ji ->", (A, A)), ("...i,...i->...", (D, D)), ("ii,ii->i", (A, A)),
                                 ("ij,jk,kl->il", (A, A, A)), (",,->", (2, 2, 2)), ("i,j->ji", (x, x)), ("i,j", (x, x))]:
        found = weft.einsum(subscripts, *operands)
        wanted = np.einsum(subscripts, *map(dense, operands))
        assert np.allclose(dense(found.to_numpy() if isinstance(found, weft.Tensor) else found), wanted), subscripts
    # Trees and formats name places.
    assert weft.einsum("ij,ij->", A, A, tree="(T0 * T1)") == pytest.approx((D * D).sum())
    with pytest.raises(weft.InputError, match="index j is 4 in T0 .* but 3 in T0"):
        weft.einsum("ij,jk->ik", *[np.ones((3, 4))] * 2)
