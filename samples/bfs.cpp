// bfs: breadth-first search by products. One step from the vertices of a level is y(i) = A(i,j) * x(j); of the vertices
// reached, those without a level are the next x. The kernel is compiled once; each step replaces one operand.
//
//   bfs [VERTICES [DEGREE]]    levels and vertices of a random graph; fails unless the definition gives the same
#include <weft/engine.h>
#include <weft/host.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr int unreached = -1;

template <class T>
T value_or_exit(weft::Expected<T> expected) {
  if (!expected) {
    std::fprintf(stderr, "bfs: %s\n", expected.error().message.c_str());
    std::exit(1);
  }
  return std::move(*expected);
}

/// Row i lists the vertices j with an edge from j to i, in order.
struct Graph {
  std::uint64_t vertices = 0;
  std::vector<std::int32_t> pos = {0}, crd;
};

Graph random_graph(std::uint64_t vertices, unsigned degree) {
  Graph graph;
  graph.vertices = vertices;
  std::mt19937 random(1);
  for (std::uint64_t i = 0; i < vertices; ++i) {
    std::vector<std::int32_t> row;
    for (unsigned n = 0; n < degree; ++n) row.push_back(static_cast<std::int32_t>(random() % vertices));
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    graph.crd.insert(graph.crd.end(), row.begin(), row.end());
    graph.pos.push_back(static_cast<std::int32_t>(graph.crd.size()));
  }
  return graph;
}

/// The levels by products.
std::vector<int> levels_by_products(const Graph& graph, std::int32_t source) {
  const std::vector<double> ones(graph.crd.size(), 1.0);
  // Two frontiers take turns: the one that a binding still lends is not written to.
  std::vector<double> frontiers[2] = {std::vector<double>(graph.vertices), std::vector<double>(graph.vertices)};
  std::vector<int> levels(graph.vertices, unreached);
  levels[source] = 0;
  frontiers[0][source] = 1;

  const auto a = value_or_exit(weft::borrow_csr(graph.vertices, graph.vertices, graph.pos, graph.crd, ones));
  const auto first = value_or_exit(weft::borrow_dense({graph.vertices}, frontiers[0]));
  const auto engine = value_or_exit(weft::Engine::create());
  const auto kernel = value_or_exit(engine.compile("y(i) = A(i,j) * x(j)", {{"A", a}, {"x", first}}));
  weft::Bindings bindings;
  bindings.set("A", a);
  for (int level = 0;; ++level) {
    const std::vector<double>& frontier = frontiers[level % 2];
    std::vector<double>& next = frontiers[(level + 1) % 2];
    bindings.set("x", value_or_exit(weft::borrow_dense({graph.vertices}, frontier)));
    const auto results = value_or_exit(kernel.run(bindings));
    const auto reached = results.at("y").values().as<const double>();
    bool any = false;
    for (std::uint64_t i = 0; i < graph.vertices; ++i) {
      const bool found = reached[i] != 0 && levels[i] == unreached;
      next[i] = found ? 1 : 0;
      if (found) levels[i] = level + 1;
      any = any || found;
    }
    if (!any) return levels;
  }
}

/// The definition: sweeps over all edges, one level after the other.
std::vector<int> levels_by_edges(const Graph& graph, std::int32_t source) {
  std::vector<int> levels(graph.vertices, unreached);
  levels[source] = 0;
  bool any = true;
  for (int level = 0; any; ++level) {
    any = false;
    for (std::uint64_t i = 0; i < graph.vertices; ++i)
      for (auto n = graph.pos[i]; n < graph.pos[i + 1] && levels[i] == unreached; ++n)
        if (levels[graph.crd[n]] == level) {
          levels[i] = level + 1;
          any = true;
        }
  }
  return levels;
}

}  // namespace

int main(int argc, char** argv) {
  const Graph graph = random_graph(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000,
                                   argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 3);
  if (graph.vertices == 0) return std::fprintf(stderr, "bfs: a graph needs a vertex\n"), 1;
  const std::vector<int> levels = levels_by_products(graph, 0);
  if (levels != levels_by_edges(graph, 0)) return std::fprintf(stderr, "bfs: the levels are wrong\n"), 1;
  std::printf("%d levels, %lld of %llu vertices\n", *std::max_element(levels.begin(), levels.end()) + 1,
              static_cast<long long>(std::count_if(levels.begin(), levels.end(), [](int l) { return l >= 0; })),
              static_cast<unsigned long long>(graph.vertices));
  return 0;
}
