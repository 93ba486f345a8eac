// Threads that do not start: the binary is linked with --wrap=pthread_create, so what weft starts can be refused as the
// system refuses it. Threads of the tests (std::thread) are started by the standard library and not concerned.
#pragma once

#include <climits>

namespace refused_threads {

/// While this lives: the threads behind the first `allowed` that are asked for do not start.
class Refusing {
 public:
  explicit Refusing(int allowed = 0);
  ~Refusing();
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;
  /// How many have been asked for.
  int asked() const;
};

}  // namespace refused_threads
