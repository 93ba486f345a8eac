#include "engine/run_progress.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

namespace run_progress_test {

using namespace weft;

TEST_CASE("progress of a run is told once in a while, in parts of all nests") {
  std::vector<std::string> told;
  std::vector<double> fractions;
  const Progress listener = [&](std::string_view what, double fraction) {
    told.emplace_back(what);
    fractions.push_back(fraction);
  };
  RunProgress progress(listener, "computing A", 2);
  progress.begin(0, 4);
  for (int chunk = 0; chunk < 3; ++chunk) progress.chunk_done();
  CHECK(told.empty());  // a short run says nothing
  std::this_thread::sleep_for(std::chrono::milliseconds(101));
  progress.chunk_done();
  progress.begin(1, 10);
  progress.chunk_done();  // not again so soon
  CHECK(told == std::vector<std::string>{"computing A"});
  CHECK(fractions == std::vector<double>{0.5});
  std::this_thread::sleep_for(std::chrono::milliseconds(101));
  progress.chunk_done();
  CHECK(fractions == std::vector<double>{0.5, 0.6});
  const Progress nobody;
  RunProgress silent(nobody, "", 1);
  silent.begin(0, 1);
  silent.chunk_done();
}

}  // namespace run_progress_test
