#include "frontend/json.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace json_test {

using weft::Json;

TEST_CASE("json: values, members in the order in which they were made, arrays") {
  Json json;
  json["whole"] = std::uint64_t{18446744073709551615U};
  json["negative"] = -3;
  json["real"] = 0.1;
  json["round"] = 3.0;
  json["large"] = 1e300;
  json["nan"] = std::numeric_limits<double>::quiet_NaN();
  json["truth"] = true;
  json["none"] = nullptr;
  json["list"] = std::vector<double>{1, 2.5};
  json["names"] = std::vector<std::string>{"a"};
  json["empty"] = Json::array();
  json["inner"] = {{"a", 1}, {"b", {{"c", "d"}}}};
  json["inner"]["a"] = 2;
  json["more"].push_back({{"x", 1}});
  CHECK(json.dump() ==
        R"({"whole":18446744073709551615,"negative":-3,"real":0.1,"round":3.0,"large":1e+300,"nan":null,"truth":true,"none":null,)"
        R"("list":[1.0,2.5],"names":["a"],"empty":[],"inner":{"a":2,"b":{"c":"d"}},"more":[{"x":1}]})");
}

TEST_CASE("json: texts are quoted, and what is no UTF-8 is replaced") {
  CHECK(Json("a\"b\\c\n\t\r\x01").dump() == R"("a\"b\\c\n\t\r\u0001")");
  CHECK(Json("\xC3\xA4 \xE2\x88\x91 \xF0\x9F\x98\x80").dump() == "\"\xC3\xA4 \xE2\x88\x91 \xF0\x9F\x98\x80\"");
  for (const std::string wrong : {"\x80", "\xC0", "\xF8", "\xFF", "\xC3"}) CHECK(Json(wrong).dump() == "\"\xEF\xBF\xBD\"");
  CHECK(Json("\xED\xA0\x80").dump() == "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");  // half of a surrogate pair
  CHECK(Json("\xC3(").dump() == "\"\xEF\xBF\xBD(\"");
}

}  // namespace json_test
