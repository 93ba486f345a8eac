// Figures that are no kernel times: reading text, waking threads, starting the process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

/// Reads a file several times on one thread and on all; MB of text per second and core, share of each step. Exit status.
int read_speed(const std::string& path);

/// Kernels of some 5 ms and of 20 to 70 us, run again and again and after 3 and 30 ms of sleep, on 1 and 2 threads: a second thread that
/// wakes late shows as a ratio near 1 or below in the lines with sleep. Exit status.
int wake();

/// From starting the command to its end on a tiny network: with an empty disk cache, with a filled one. `command` is
/// the path of weft. Exit status.
int startup(const std::string& command);

/// Hits of the caches, kernels loaded from disk, what planning, compiling and specialising cost and save; `calls` evaluations
/// from 8 threads and `kernels` distinct kernels, with the memory they leave. Exit status.
int engine_figures(std::uint64_t calls, std::uint64_t kernels);

/// What a host pays around a kernel in a loop: compiling what is known, sessions, rebinding, new values over a converted
/// layout; on 1 and 2 threads. With `data`, breadth-first search over notredame_www beside a hand-written one. Exit status.
/// `only`: threads or pieces.
int hosts(const std::string& data, const std::string& only);

/// MTTKRP of every mode of the tensors in `data`, SpMV and SpMM of its matrices: the entries of the heaviest chunk over the even share of a
/// thread, for 2 to 32 threads, and the times on one and two. Exit status.
int balance(const std::string& data, const std::vector<std::string>& filters);

/// Layouts of matrices, each pinned, by weft and by hand, beside the one that weft chooses for 1000 calls: SpMV, and SpMM of 32
/// columns. Then a sparse vector as planned for one call beside every way to look it up. With `data`, of the matrices there.
/// Hand-written kernels run on one thread. Exit status.
int compare_layouts(const std::string& data, const std::vector<std::string>& filters, unsigned threads);

/// Products of dense matrices beside those of `library`, an OpenBLAS, where it can be loaded. Exit status.
int dense_products(const std::string& library, unsigned threads);

}  // namespace weft::bench
