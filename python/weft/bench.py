"""``python -m weft.bench [--quick] [--threads N]``: what calls cost, and kernels beside scipy's and numpy's, in one process.

Each line is the median of many calls, verified before it is timed, with the peer timed in turns with it.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

import weft

SPMV = "y(i) = M(i,j) * x(j)"


def medians(*calls, seconds=0.5, least=7):
    """Medians in microseconds of calls that take turns, each a batch of about a millisecond."""
    batches = []
    for call in calls:
        call()
        start = time.perf_counter()
        call()
        batches.append(max(1, int(1e-3 / max(time.perf_counter() - start, 1e-7))))
    times = [[] for _ in calls]
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times[0]) < least:
        for call, batch, taken in zip(calls, batches, times):
            start = time.perf_counter()
            for _ in range(batch):
                call()
            taken.append((time.perf_counter() - start) / batch * 1e6)
    return [statistics.median(taken) for taken in times]


def line(what, took, peer=None, of=""):
    ratio = f"{peer:12.1f} {of:<12} {peer / took:6.2f} x" if peer else ""
    print(f"{what:<52} {took:12.1f} {ratio}", flush=True)


def random_csr(rows, columns, a_row, seed=0):
    """About so many entries a row, at random; sorted, none twice."""
    from scipy import sparse

    rng = np.random.default_rng(seed)
    count = rows * a_row
    made = sparse.coo_array((rng.random(count), (rng.integers(0, rows, count), rng.integers(0, columns, count))), (rows, columns))
    return sparse.csr_matrix(made.tocsr())


def call_costs(seconds):
    """What a call costs, on 100 × 100 with 5 entries a row, where the kernel takes a microsecond."""
    M, x, y = random_csr(100, 100, 5), np.random.default_rng(1).random(100), np.empty(100)
    others = [x + number for number in range(64)]
    turn = iter(range(1 << 62))
    kernel = weft.compile(SPMV, M=M, x=x)
    assert np.allclose(kernel(M=M, x=x, out=y), M @ x)
    print(f"{'calls, 100 x 100':<52} {'microseconds':>12}")
    known, fresh, other, evaluate, einsum, scipy = medians(
        lambda: kernel(M=M, x=x, out=y), lambda: kernel(M=M, x=x), lambda: kernel(M=M, x=others[next(turn) & 63], out=y),
        lambda: weft.evaluate(SPMV, M=M, x=x), lambda: weft.einsum("ij,j->i", M, x), lambda: M @ x, seconds=seconds)
    line("kernel(M=M, x=x, out=y), known objects", known)
    line("kernel(M=M, x=x), a fresh result", fresh)
    line("kernel(M=M, x=another, out=y)", other)
    line("weft.evaluate", evaluate, scipy, "scipy A @ x")
    line("weft.einsum", einsum)


def kernels(seconds, threads):
    """Kernels beside scipy's, from 10^5 entries on."""
    from scipy import sparse

    print(f"\n{f'kernels, {threads} threads':<52} {'microseconds':>12} {'peer':>12}")
    with weft.options(threads=threads):
        for size in (5000, 20000, 200000):
            M = random_csr(size, size, 20)
            rng = np.random.default_rng(2)
            x, B, C = rng.random(size), rng.random((size, 16)), rng.random((size, 16))
            rows = np.repeat(np.arange(size), np.diff(M.indptr))
            sddmm = lambda: sparse.csr_matrix(  # noqa: E731
                (np.einsum("nk,nk->n", B[rows], C[M.indices]) * M.data, M.indices, M.indptr), M.shape)
            named = f"{size} x {size}, {M.nnz} entries"
            pairs = [("SpMV", lambda: weft.einsum("ij,j->i", M, x), lambda: M @ x),
                     ("SpMM, 16 columns", lambda: weft.einsum("ij,jk->ik", M, B), lambda: M @ B),
                     ("SDDMM, 16 columns", lambda: weft.einsum("ij,ik,jk->ij", M, B, C, format="ds"), sddmm)]
            if size <= 20000:
                pairs.append(("A @ A", lambda: weft.einsum("ij,jk->ik", M, M, format="ds"), lambda: M @ M))
            for what, ours, theirs in pairs:
                mine, peers = ours(), theirs()
                difference = abs(mine - peers)
                assert difference.max() < 1e-9, what
                del mine, peers, difference
                took, peer = medians(ours, theirs, seconds=seconds, least=3)
                line(f"{what}, {named}", took, peer, "scipy")


def tensors(seconds):
    """MTTKRP and TTMc on flights by origin, destination, day and hour, where pydata/sparse is installed."""
    file = pathlib.Path(__file__).resolve().parents[2] / "samples/data/flights2001_count.tns.zst"
    if not file.exists():
        return
    T = weft.read(file)
    D, Y, H = (np.random.default_rng(3).random((extent, 16)) for extent in T.shape[1:])
    print(f"\n{'flights2001_count, 2.6 million entries':<52} {'microseconds':>12} {'peer':>12}")
    peers = [None, None]
    try:
        import sparse
    except ImportError:
        pass
    else:
        coordinates, values = T.to_coo()
        S = sparse.COO(coordinates, values, shape=T.shape)
        if hasattr(sparse, "einsum"):
            peers = [lambda: sparse.einsum("odyh,dr,yr,hr->or", S, D, Y, H),
                     lambda: sparse.einsum("odyh,dr,ys,ht->orst", S, D, Y[:, :4], H[:, :4])]
        else:  # before 0.15: a column at a time, by dense weights of what is summed over
            weights = np.einsum("dr,yr,hr->rdyh", D, Y, H)
            peers[0] = lambda: np.stack([(S * each[None]).sum(axis=(1, 2, 3)).todense() for each in weights], axis=1)
            # The first product is dense already.
            by_hour = lambda: sparse.tensordot(S, H[:, :4], axes=(3, 0))  # noqa: E731
            peers[1] = lambda: np.tensordot(np.tensordot(by_hour(), Y[:, :4], axes=(2, 0)), D, axes=(1, 0)).transpose(0, 3, 2, 1)
    calls = [("MTTKRP, 16 columns", lambda: weft.einsum("odyh,dr,yr,hr->or", T, D, Y, H)),
             ("TTMc, 16 x 4 x 4", lambda: weft.einsum("odyh,dr,ys,ht->orst", T, D, Y[:, :4], H[:, :4]))]
    for (what, ours), theirs in zip(calls, peers):
        if theirs is None:
            line(what, medians(ours, seconds=seconds, least=3)[0])
        else:
            assert np.allclose(ours(), theirs()), what
            line(what, *medians(ours, theirs, seconds=seconds, least=3), "sparse")


def first_calls():
    """From the start of a process to its first result, less what importing numpy takes."""
    import tempfile

    work = "import weft; weft.{}einsum('ij,j->i', np.ones((100, 100)), np.ones(100))"
    print(f"\n{'first result of a process, import included':<52} {'milliseconds':>12}")

    def run(text):
        begin = "import time, numpy as np; start = time.perf_counter(); "
        done = subprocess.run([sys.executable, "-c", begin + text + "; print(time.perf_counter() - start)"], capture_output=True, text=True,
                              check=True)
        return float(done.stdout) * 1e3

    line("import weft", statistics.median(run("import weft") for _ in range(7)))
    line("cold", statistics.median(run(work.format("")) for _ in range(7)))
    with tempfile.TemporaryDirectory() as place:
        kept = work.format(f"Engine(cache_dir={place!r}).")
        run(kept)
        line("with a disk cache", statistics.median(run(kept) for _ in range(7)))


def main():
    parser = argparse.ArgumentParser(prog="python -m weft.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="threads of the kernels")
    parser.add_argument("--calls", action="store_true", help="what calls cost alone")
    options = parser.parse_args()
    seconds = 0.2 if options.quick else 2
    call_costs(seconds)
    if options.calls:
        return
    for threads in options.threads:
        kernels(seconds, threads)
    tensors(seconds)
    first_calls()


if __name__ == "__main__":
    main()
