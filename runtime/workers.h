// Workers: threads of weft's own that share out the tasks of loops.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace weft {

/// Up to `most` - 1 threads beside those that call. They start with the first loop that has work for them, sleep when
/// there has been none for a while, and end with this object. A thread that the system does not start is done without,
/// and asked for again by a later loop. In the child of a fork there are none. Thread safe.
class Workers {
 public:
  explicit Workers(unsigned most);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs body(task, slot) for every task on the caller, whose slot is 0, and on threads with slots below `most`. A
  /// thread that waits for the last tasks does not begin one of another loop, whose caller may hold a lock that this one
  /// waits for; loops within tasks and loops of several callers make progress however few threads there are. What a task
  /// throws is thrown here after the tasks that had begun; the others are left out.
  void for_each(std::size_t tasks, const std::function<void(std::size_t task, unsigned slot)>& body);
  /// The caller and the threads that loops have beside it: fewer than `most` where the process has fewer CPUs, where
  /// the system refused the last that was asked for, and in the child of a fork.
  unsigned available() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
