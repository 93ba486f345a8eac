#include <doctest/doctest.h>

#include "engine/plan/plan.h"
#include "engine/plan/schedule/schedule.h"
#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"
#include "unit/replaced.h"

namespace parse_schedule_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

const char* const text =
    "schedule\n"
    "  tree (T * D)\n"
    "  layout T ss:0,1 f64\n"
    "  layout D ss:0,1 f64\n"
    "  result R d:0 f64\n"
    "  R[i] += 2 * T[i,j] * D[i,j]   loops i,j\n"
    "    meet j: drive T@1.1, gallop D@1.2\n"
    "  parallel i owner\n";

OwnedProblem made() {
  OwnedProblem problem = plan_test::problem("T:ij:ss:100 D:ij:ss:100 -> i", {{'i', 30}, {'j', 30}});
  problem.network.assignments[0].terms[0].coefficient = 2;
  return problem;
}

std::string message(const std::string& changed) {
  const auto schedule = parse_schedule(changed, made().network);
  return schedule ? "" : schedule.error().message;
}

std::string replaced(const std::string& from, const std::string& to) { return test::replaced(text, from, to); }

}  // namespace

TEST_CASE("what was printed is read back") {
  const Schedule schedule = schedule_of(made(), text);
  CHECK(print(schedule, made().network) == text);
  REQUIRE(schedule.statements.size() == 1);
  CHECK(schedule.statements[0].coefficient == 2);
  REQUIRE(schedule.statements[0].intersections.size() == 1);
  CHECK(schedule.statements[0].intersections[0].parts[1].gallop);
  CHECK(defect(made(), text).empty());
}

TEST_CASE("comments, blank lines and missing line ends are accepted") {
  std::string loose = "# mine\n\n" + replaced("  tree", "# or another\n\ttree");
  loose.pop_back();
  CHECK(schedule_of(made(), loose) == schedule_of(made(), text));
}

TEST_CASE("every malformed line is refused with its number") {
  const std::pair<const char*, const char*> cases[][2] = {
      {{"schedule\n", "plan\n"}, {"line 1", "first line"}},
      {{"tree (T * D)", "tree (T * E)"}, {"line 2", "E"}},
      {{"tree (T * D)", "trees (T * D)"}, {"line 2", "expected"}},
      {{"layout T ss:0,1 f64", "layout X ss:0,1 f64"}, {"line 3", "no tensor is named 'X'"}},
      {{"layout T ss:0,1 f64", "layout R ss:0,1 f64"}, {"line 3", "is a result"}},
      {{"layout T ss:0,1 f64", "layout T sss f64"}, {"line 3", "3 levels for 2 modes"}},
      {{"layout T ss:0,1 f64", "layout T ss:0,0 f64"}, {"line 3", "twice"}},
      {{"layout T ss:0,1 f64", "layout T ss:0,1 f16"}, {"line 3", "f16"}},
      {{"layout T ss:0,1 f64", "layout T ss:0,1 f64 bits 32/32"}, {"line 3", "every level"}},
      {{"layout T ss:0,1 f64", "layout T ss:0,1 f64 bits 32/16,32/32"}, {"line 3", "32 or 64"}},
      {{"layout T ss:0,1 f64", "layout T ss:0,1 f64 twice"}, {"line 3", "unexpected"}},
      {{"result R d:0 f64", "result T ss:0,1 f64"}, {"line 5", "an operand"}},
      {{"result R d:0 f64", "intermediate T[i] d f64"}, {"line 5", "already"}},
      {{"T[i,j] *", "T[i,q] *"}, {"line 6", "no index is named 'q'"}},
      {{"T[i,j] *", "T[i] *"}, {"line 6", "1 indices"}},
      {{"T[i,j] *", "U[i,j] *"}, {"line 6", "'U' has no line"}},
      {{"R[i] +=", "R[i] ="}, {"line 6", "'+='"}},
      {{"loops i,j", "loops i,"}, {"line 6", "index is missing"}},
      {{"   loops i,j", ""}, {"line 6", "'loops'"}},
      {{"loops i,j", "loops i,j fused x"}, {"line 6", "number of loops"}},
      {{"meet j", "meet q"}, {"line 7", "'q'"}},
      {{"gallop D@1.2", "jump D@1.2"}, {"line 7", "drive, search or gallop"}},
      {{"gallop D@1.2", "gallop D@0.2"}, {"line 7", "counted from 1"}},
      {{"parallel i", "parallel j"}, {"line 8", "'i'"}},
      {{"owner", "mine"}, {"line 8", "owner, private, counted or serial"}},
      {{"parallel i owner\n", "parallel i owner\n  parallel i owner\n"}, {"line 9", "more lines"}},
  };
  for (const auto& [change, expected] : cases) {
    const std::string found = message(replaced(change.first, change.second));
    CAPTURE(change.second);
    CAPTURE(found);
    CHECK(found.find(expected.first) != std::string::npos);
    CHECK(found.find(expected.second) != std::string::npos);
  }
  CHECK(message("").find("empty") != std::string::npos);
  CHECK(message("schedule\n").find("tree") != std::string::npos);
  CHECK(message("schedule\ntree (T * D)\n").find("no statement") != std::string::npos);
}

TEST_CASE("names that look like keywords or numbers stay names") {
  const OwnedProblem odd = problem("inf:ij loops:ij -> i", {{'i', 3}, {'j', 3}});
  const Schedule schedule = baseline(odd);
  CHECK(schedule_of(odd, print(schedule, odd.network)) == schedule);
}

TEST_CASE("trees of several assignments say which are stored") {
  // Two indices are named j; T, which nobody reads by its name, is written into Q.
  OwnedProblem made = forest_problem("tree = M:ij:ss:9 v:j -> i; T = tree:i D:ij -> j; Q = T:j tree:i -> ", {{'i', 4}, {'j', 5}, {'l', 3}});
  made.network.indices[2].name = "j";
  const std::string forest =
      "schedule\n"
      "  tree tree = (M * v)\n"
      "  tree Q = ((tree.1 * D) * tree.2)\n"
      "  layout M ss:0,1 f64\n"
      "  layout v d:0 f64\n"
      "  intermediate tree[i] d:0 f64\n"
      "  layout D dd:0,1 f64\n"
      "  intermediate x[j] d:0 f64\n"
      "  intermediate y[] f64\n"
      "  result Q f64\n"
      "  tree[i] += M[i,j] * v[j]   loops i,j\n"
      "  y[] += tree[i_2] * D[i_2,j] * x[j]   loops i_2,j\n";
  const auto refused = [&](const std::string& changed) {
    const auto read = parse_schedule(changed, made.network);
    return read ? std::string() : read.error().message;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = forest;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  CHECK(refused(with("tree tree =", "tree nothing =")).find("line 2: 'nothing' is not assigned") != std::string::npos);
  CHECK(refused(with("tree tree = (M * v)", "tree (M * v)")).find("the contraction tree") != std::string::npos);
  CHECK(refused(with("  tree tree = (M * v)\n", "")).find("the contraction tree") != std::string::npos);
  CHECK(refused(with("tree Q =", "tree tree =")).find("the next tree is that of Q") != std::string::npos);
  CHECK(refused(with("  tree Q = ((tree.1 * D) * tree.2)\n", "")).find("no line 'tree Q ='") != std::string::npos);
  CHECK(refused(with("tree Q = (", "tree (")).find("begins with 'NAME ='") != std::string::npos);
  CHECK(refused(with("tree Q =", "tree Q = (tree.1 * D * tree.2)\n  tree Q =")).find("more lines 'tree'") != std::string::npos);
}

TEST_CASE("the text of a schedule of several assignments reads back") {
  for (const std::set<std::string>& results : {std::set<std::string>{}, {"T"}, {"tree"}, {"tree", "T"}}) {
    OwnedProblem made = forest_problem("tree = M:ij:ss:9 v:j -> i; T = tree:i D:ij -> j; Q = T:j tree:i M:ij -> ", {{'i', 4}, {'j', 5}});
    made.options.results = results;
    for (const Schedule& schedule : {baseline(made),
                                     plan(made)->schedule}) {
      const std::string printed = print(schedule, made.network);
      CAPTURE(printed);
      CHECK(schedule_of(made, printed) == schedule);
      CHECK(defect(made, printed) == "");
    }
  }
}

TEST_CASE("what tensors are stored in is printed and read back beside a schedule") {
  std::map<std::string, StatedFormat> formats;
  formats["T"] = {*parse_format("bcsr(3,2):f32"), true, ReadBy::levels};
  formats["D"] = {*parse_format("(i,j) -> (j-i:s unordered, j:d)"), false, ReadBy::location};
  formats["R"] = {*parse_format("(i) -> (i/4:d, i%4:d)"), false, ReadBy::copy};
  formats["x"] = {*parse_format("d"), true, ReadBy::levels};
  const std::string stated = with_stated_formats(text, formats);
  CHECK(stated.starts_with("schedule\n"
                           "  stored D (i,j) -> (j-i:s unordered, j:d) f64 located\n"
                           "  stored R (i) -> (i/4:d, i%4:d) f64 copied\n"
                           "  stored T (i,j) -> (i/3:d, j/2:s, i%3:d, j%2:d) f32 chosen\n"
                           "  stored x d:0 f64 chosen\n"
                           "  tree (T * D)\n"));
  CHECK(parse_stated_formats(stated) == formats);
  CHECK(schedule_of(made(), stated) == schedule_of(made(), text));
  CHECK(parse_stated_formats(text)->empty());
  CHECK(with_stated_formats(text, {}) == text);
  const auto refused = [](const std::string& line) {
    const auto read = parse_stated_formats("schedule\n" + line + "\n");
    return read ? "" : read.error().message;
  };
  CHECK(refused("stored[i] += T[i]   loops i").empty());
  CHECK(refused("stored").find("line 2: the name of a tensor is missing") != std::string::npos);
  CHECK(refused("stored T").find("line 2: ") != std::string::npos);
  CHECK(refused("stored T ds").find("line 2: unknown scalar type") != std::string::npos);
  CHECK(refused("stored T (i,j) -> (i:d, j:s)").find("line 2: unknown scalar type") != std::string::npos);
  CHECK(refused("stored T (i,j) -> (i:d, j:s f64").find("line 2: ") != std::string::npos);
  CHECK(refused("stored T ds f64 read").find("line 2: unexpected text") != std::string::npos);
  CHECK(refused("stored T ds f64\nstored T ds f64").find("line 3: a second line 'stored T'") != std::string::npos);
}

}  // namespace parse_schedule_test
