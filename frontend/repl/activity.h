// Activity: a line on a terminal that says what takes so long.
#pragma once

#include <memory>
#include <string_view>

#include "weft/memory.h"

namespace weft {

/// Shows nothing in the first second, then what is done, how much of it where that is known, and the seconds since
/// begin(), on standard error. `shown` false, or no terminal whose cursor moves: never anything.
class Activity {
 public:
  explicit Activity(bool shown);
  ~Activity();
  void begin();
  void end();                ///< also takes the line away
  void clear();              ///< takes the line away for text that follows
  Progress progress() const;  ///< empty if nothing is shown
  double seconds() const;    ///< since begin()

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
