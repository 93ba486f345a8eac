#include "runtime/headroom.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "unit/address_space.h"

namespace headroom_test {

using namespace weft;

TEST_CASE("headroom is there or refused with what it was for, and foreign code runs while it lives") {
  CHECK_FALSE(ForeignCode::runs());
  {
    const auto room = Headroom::take(1 << 20, "trying");
    REQUIRE(room);
    CHECK(ForeignCode::runs());
  }
  CHECK_FALSE(ForeignCode::runs());
  const auto refused = Headroom::take(std::uint64_t{1} << 60, "trying");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::resource);
  CHECK(refused.error().message == "out of memory while trying, which may take 1152921504607 MB");
  CHECK_FALSE(ForeignCode::runs());
  // What was refused is not counted on.
  CHECK(Headroom::take(1 << 20, "trying"));
}

TEST_CASE("what runs at once needs its headroom together" * doctest::skip(!address_space::can_be_limited())) {
  constexpr std::uint64_t mb = 1 << 20;
  const int outcome = address_space::with(100 * mb, [] {
    if (!Headroom::is_there(60 * mb) || Headroom::is_there(120 * mb)) return 1;
    {
      const auto one = Headroom::take(60 * mb, "one");
      if (!one) return 2;
      if (Headroom::take(60 * mb, "two")) return 3;
      if (!Headroom::take(20 * mb, "three")) return 4;
    }
    return Headroom::take(60 * mb, "four") ? 0 : 5;
  });
  CHECK(outcome == 0);
}

}  // namespace headroom_test
