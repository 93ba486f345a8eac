#include <doctest/doctest.h>

#include "engine/plan/schedule/check.h"
#include "unit/plan/networks.h"

namespace weft::plan_test::check_sparse_test {
namespace {

struct Change {
  const char* from;
  const char* to;
  const char* expected;
};

void refuses(const OwnedProblem& made, const std::string& good, const std::vector<Change>& changes) {
  CHECK(defect(made, good) == "");
  for (const Change& change : changes) {
    std::string changed = good;
    const std::size_t at = changed.find(change.from);
    REQUIRE(at != std::string::npos);
    changed.replace(at, std::string(change.from).size(), change.to);
    const std::string to = change.to;
    CAPTURE(to);
    const std::string found = defect(made, changed);
    CAPTURE(found);
    CHECK(found.find(change.expected) != std::string::npos);
    if (*change.expected == '\0') CHECK(found.empty());
  }
}

}  // namespace

TEST_CASE("targets with compressed levels are appended to in order, or drained") {
  const OwnedProblem made = problem("B:ik:ds:300 C:kj:ds:300 -> ij", {{'i', 40}, {'j', 40}, {'k', 40}});
  refuses(made, R"(schedule
  tree (B * C)
  layout B ds:0,1 f64
  layout C ds:0,1 f64
  result R ds:0,1 f64
  R[i,j] += B[i,k] * C[k,j]   loops i,k,j   drained accumulator
  parallel i owner
)",
          {{"drained accumulator", "", "add 'drained accumulator'"},
           {"drained accumulator", "drained bitmap", ""},
           {"drained accumulator", "drained hashed", ""},
           {"loops i,k,j", "loops i,j,k", "nothing is to be drained"},
           {"ds:0,1 f64\n  R", "dd:0,1 f64\n  R", "nothing is drained into it"},
           {"ds:0,1 f64\n  R", "ds:1,0 f64\n  R", "append to R out of order"},
           {"parallel i owner", "parallel i private", "private copies of it cannot be"},
           {"parallel i owner", "parallel i counted", ""},
           {"loops i,k,j   drained accumulator\n  parallel i owner", "loops k,i,j   drained bitmap\n  parallel k serial",
            "a bitmap has one mode"},
           {"loops i,k,j   drained accumulator\n  parallel i owner", "loops k,i,j   drained hashed\n  parallel k serial", ""},
           {"result R ds:0,1 f64", "result R dh:0,1 f64", "dense and compressed levels only"},
           {"result R ds:0,1 f64", "result R ds:0,1 f64 delivered uq:0,1 f64", ""},
           {"result R ds:0,1 f64", "result R ds:0,1 f64 delivered ds:0,1 f64", "computed as ds:0,1 already"},
           {"result R ds:0,1 f64", "result R ds:0,1 f64 delivered ss:0,1 f32", "no format of a result"},
           {"result R ds:0,1 f64", "result R ds:0,1 f64 like B", "no access of B with the same indices"}});
}

TEST_CASE("a dense workspace on the way to compressed levels is provably written") {
  const OwnedProblem made = problem("A:ij:ds:300 B:jk:ds:300 C:kl:ds:300 -> il", {{'i', 40}, {'j', 40}, {'k', 40}, {'l', 40}});
  refuses(made, R"(schedule
  tree ((A * B) * C)
  layout A ds:0,1 f64
  layout B ds:0,1 f64
  layout C ds:0,1 f64
  intermediate x[i,k] da:0,1 f64
  result R ds:0,1 f64
  x[i,k] += A[i,j] * B[j,k]   loops i,j,k
  R[i,l] += x[i,k] * C[k,l]   loops i,k,l   fused 1   drained bitmap
  parallel i owner
)",
          {{"x[i,k] da:0,1", "x[i,k] dd:0,1", "give it levels a (accumulator), h (hashed) or b (bitmap)"},
           {"x[i,k] da:0,1", "x[i,k] db:0,1", ""},
           {"x[i,k] da:0,1", "x[i,k] dh:0,1", ""},
           {"x[i,k] da:0,1", "x[i,k] ds:0,1", "one key of kind a or h"},
           {"x[i,k] da:0,1", "x[i,k] aa:0,1", "is not stored over i"},
           // Between nests it is compressed, and appended to like a result.
           {"x[i,k] da:0,1 f64\n  result R ds:0,1 f64\n  x[i,k] += A[i,j] * B[j,k]   loops i,j,k\n  R[i,l] += x[i,k] * C[k,l]   "
            "loops i,k,l   fused 1   drained bitmap\n  parallel i owner",
            "x[i,k] ds:0,1 f64\n  result R ds:0,1 f64\n"
            "  x[i,k] += A[i,j] * B[j,k]   loops i,j,k   drained accumulator\n  parallel i owner\n"
            "  R[i,l] += x[i,k] * C[k,l]   loops i,k,l   drained bitmap\n  parallel i owner",
            ""}});
}

TEST_CASE("positions are shared where the product has them, or where that is asked for") {
  OwnedProblem made = problem("M:ij:ss:300 A:ir B:jr:ds:50 -> ij", {{'i', 40}, {'j', 40}, {'r', 8}});
  made.options.result_patterns["R"] = "M";
  const std::string good = R"(schedule
  tree (M * A * B)
  layout M ss:0,1 f64
  layout A dd:0,1 f64
  layout B ds:0,1 f64
  result R ss:0,1 f64 like M
  R[i,j] += M[i,j] * A[i,r] * B[j,r]   loops i,j,r
  parallel i owner
)";
  refuses(made, good,
          {{"ss:0,1 f64 like M", "ss:0,1 f64", "was requested like M"},
           {"ss:0,1 f64 like M", "ss:1,0 f64 like M", "level by level"},
           {"like M", "like A", "all its levels are dense"}});
  made.options.result_patterns.clear();
  CHECK(defect(made, good).find("may have fewer entries than M") != std::string::npos);
}

TEST_CASE("positions are shared with a copy that keeps the order of the entries, and handed over as they are given") {
  const OwnedProblem made = problem("T:ijk:sss:300 A:ir B:jr C:kr -> ijk", {{'i', 40}, {'j', 40}, {'k', 40}, {'r', 8}});
  const std::string good = R"(schedule
  tree (T * A * B * C)
  layout T duq:0,1,2 f64 converted
  layout A dd:0,1 f64
  layout B dd:0,1 f64
  layout C dd:0,1 f64
  result R duq:0,1,2 f64 delivered sss:0,1,2 f64 like T
  R[i,j,k] += T[i,j,k] * A[i,r] * B[j,r] * C[k,r]   loops i,j,k,r
  parallel i owner
)";
  const auto as = [&](std::string copy) {
    std::string text = good;
    for (std::size_t at = text.find("duq:0,1,2"); at != std::string::npos; at = text.find("duq:0,1,2")) text.replace(at, 9, copy);
    return defect(made, text);
  };
  for (const char* copy : {"dss:0,1,2", "dds:0,1,2", "suq:0,1,2", "uqq:0,1,2", "ssu:0,1,2"}) CHECK(as(copy) == "");
  for (const char* copy : {"sss:0,2,1", "duq:1,0,2"}) CHECK(as(copy).find("has its entries in another order") != std::string::npos);
  CHECK(as("ssd:0,1,2") != "");
  refuses(made, good,
          {{"delivered sss:0,1,2", "delivered dss:0,1,2", "another format than T has"},
           {"delivered sss:0,1,2", "delivered sss:1,0,2", "another format than T has"},
           {"result R duq", "result R dss", "level by level"},
           {" delivered sss:0,1,2 f64", "", ""}});
}

}  // namespace weft::plan_test::check_sparse_test
