// The command, from its options to its exit status.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "frontend/command.h"
#include "unit/memory/fault_points.h"
#include "unit/runtime/file_fixture.h"

namespace weft::command_faults_test {

using allocation_faults::armed;
using test::fail_every_allocation;
using test::Outcome;
using test::TemporaryDirectory;

namespace {

/// While it lives, what is written to standard output and error goes to a file.
class Told {
 public:
  explicit Told(std::string path) : path_(std::move(path)) {
    std::fflush(nullptr);
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int stream = 1; stream <= 2; ++stream) {
      before_[stream - 1] = ::dup(stream);
      ::dup2(file, stream);
    }
    ::close(file);
  }
  ~Told() { end(); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  std::string text() {
    end();
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  void end() {
    std::fflush(nullptr);
    for (int stream = 1; stream <= 2; ++stream) {
      int& old = before_[stream - 1];
      if (old < 0) continue;
      ::dup2(old, stream);
      ::close(old);
      old = -1;
    }
  }
  std::string path_;
  int before_[2] = {-1, -1};
};

Expected<int> no_prompt(const CommandOptions&) { return 0; }

Outcome ran(const TemporaryDirectory& directory, const std::vector<std::string>& words, const std::string& expected) {
  std::vector<const char*> arguments = {"weft"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  Told told(directory.path("told"));
  const int status = armed([&] { return command(static_cast<int>(arguments.size()), arguments.data(), no_prompt); });
  const std::string text = told.text();
  if (status == 0) return {.error = {}, .wrong = text.find(expected) == std::string::npos ? "said: " + text : std::string()};
  if (text.find("error: ") == std::string::npos && text.find("out of memory") == std::string::npos)
    return {.error = {}, .wrong = "no error: " + text};
  return {.error = Error{status == 5 ? ErrorKind::resource : ErrorKind::internal, text}, .wrong = {}};
}

}  // namespace

TEST_CASE("faults: the command") {
  const TemporaryDirectory directory;
  const std::string tensor = directory.write("t.tns", "1 1 1 2\n3 4 1 5\n2 2 2 7\n");
  const std::string written = directory.path("y.tns");
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"run", "y(i) = T(i,j,k) * x(k)", "T=" + tensor, "x=ones(2)", "--threads", "1", "--no-cache"}, "y"},
      {{"run", "y(i) = T(i,j,k) * x(k)", "T=" + tensor, "x=ones(2)", "--threads", "1", "--no-cache", "--json", "--out",
        "y=" + written},
       "\"results\""},
      {{"plan", "ijk,k->i", tensor, "ones(2)", "--threads", "1", "--no-cache"}, "for"},
      {{"info", tensor, "--threads", "1"}, "3x4x2"},
      {{"convert", tensor, written, "--threads", "1", "--quiet"}, ""},
      {{"cache", "status", "--cache-dir", directory.path("cache")}, "cache"}};
  for (const auto& [words, expected] : commands) {
    std::string name = "weft";
    for (const std::string& word : words) name += ' ' + word.substr(word.rfind('/') + 1);
    fail_every_allocation(name, [&]() -> Outcome { return ran(directory, words, expected); }, Memory(), 12, test::Left::tokens);
  }
}

}  // namespace weft::command_faults_test
