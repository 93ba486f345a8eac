// What weft-bench writes is what it reads back: records to compare, times that are known, earlier choices.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "bench/exam_record.h"
#include "bench/record.h"

namespace record_test {

namespace fs = std::filesystem;
using namespace weft::bench;

namespace {

class File {
 public:
  explicit File(const std::string& name) : path_(fs::temp_directory_path() / ("weft-" + std::to_string(getpid()) + "-" + name)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

ExamRecord exam(const std::string& name, const std::string& chosen) {
  ExamRecord record;
  record.name = name;
  record.chosen = chosen;
  record.chosen_ms = 2;
  record.best_ms = 2;
  record.timed = {{chosen, 1e6, 2, false}, {"another of " + name, 2e6, 20, true}};
  return record;
}

}  // namespace

TEST_CASE("an exam that was written tells its times and choices") {
  const File file("exam.json");
  REQUIRE(write_exam(file.path(), {exam("mttkrp", "one"), exam("ttmc", "two")}));
  const auto times = read_exam(file.path());
  REQUIRE(times);
  REQUIRE(times->size() == 2);
  CHECK(times->at("mttkrp").at("one") == 2);
  CHECK(times->at("ttmc").at("another of ttmc") == -20);
  const auto choices = read_choices(file.path());
  REQUIRE(choices);
  CHECK(choices->size() == 2);
  CHECK(choices->at("ttmc") == "two");
}

TEST_CASE("the row of a network tells how an earlier choice compares") {
  ExamRecord record = exam("mttkrp", "one");
  CHECK(exam_row(record).find("earlier") == std::string::npos);
  record.earlier_ms = 4;
  CHECK(exam_row(record).find("0.50 times the 4.000 ms of the earlier choice") != std::string::npos);
}

TEST_CASE("records that were written are compared problem by problem") {
  const File before("before.json");
  const File after("after.json");
  Record record;
  record.name = "mttkrp/uniform";
  record.weft.ms = {4, 4, 4};
  REQUIRE(write_json(before.path(), {record}));
  record.weft.ms = {2, 2, 2};
  REQUIRE(write_json(after.path(), {record}));
  const auto read = read_json(before.path());
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  CHECK(read->front().name == "mttkrp/uniform");
  CHECK(read->front().weft.median() == 4);
  const auto compared = compare(before.path(), after.path());
  REQUIRE(compared);
  CHECK(compared->text.find("mttkrp/uniform") != std::string::npos);
  CHECK(compared->worst == doctest::Approx(0.5));
}

TEST_CASE("the row of a problem tells its share of the roof, and which kernel by hand it is compared with") {
  Record record;
  record.name = "mttkrp/uniform";
  record.weft.ms = {5, 4, 6};
  record.baseline = Timing{{2, 2, 2}};
  record.variant = "flat, fetched";
  record.roof = "rows";
  record.roof_ms = 3;
  const std::string row = table_row(record);
  CHECK(row.find("  75 rows") != std::string::npos);  // of the fastest run
  CHECK(row.find("| flat, fetched\n") != std::string::npos);
  const File file("roofs.json");
  REQUIRE(write_json(file.path(), {record}));
  const auto read = read_json(file.path());
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  CHECK(read->front().variant == "flat, fetched");
  CHECK(read->front().roof == "rows");
  CHECK(read->front().roof_ms == 3);
}

TEST_CASE("what weft-bench did not write is an error that names the file") {
  const File file("other.json");
  std::ofstream(file.path()) << "{\"networks\": 3}";
  CHECK(read_exam(file.path()).error().message.find(file.path()) != std::string::npos);
  CHECK(read_choices(file.path()).error().message.find(file.path()) != std::string::npos);
  CHECK(read_json(file.path()).error().message.find(file.path()) != std::string::npos);
  CHECK(read_choices(file.path() + ".absent").error().message.find("cannot read") != std::string::npos);
}

}  // namespace record_test
