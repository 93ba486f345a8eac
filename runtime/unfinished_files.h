// The temporary files that this process is writing, for what ends it without running destructors.
#pragma once

#include <string>

namespace weft {

/// A place among the names that a signal handler may read: from before a temporary file is made until it is renamed or
/// removed. Where all places are taken, or the name is too long for one, it is not listed.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  explicit UnfinishedFile(const std::string& path);
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();
  void replace(const std::string& path);  ///< by another name, or by none
 private:
  int place_ = -1;
};

/// Removes those that are listed; for a signal handler that ends the process. Any thread.
void remove_unfinished_files();

}  // namespace weft
