// One lambda per alternative of a variant.
#pragma once

namespace weft::loop {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

}  // namespace weft::loop
