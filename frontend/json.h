// Json: a value that is printed. Nothing in it needs memory to be destroyed, so memory that runs out while one is made ends
// as an exception and not the process.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft {

class Json {
 public:
  struct Member;
  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool truth) : text_(truth ? "true" : "false") {}
  Json(double number);  ///< null where it is not finite
  template <class Whole>
    requires(std::is_integral_v<Whole> && !std::is_same_v<Whole, bool>)
  Json(Whole number) : text_(std::to_string(number)) {}
  /// What is no UTF-8 becomes U+FFFD.
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  template <class Element>
  Json(const std::vector<Element>& elements) : kind_(Kind::array) {
    for (const Element& element : elements) push_back(Json(element));
  }
  /// An object.
  Json(std::initializer_list<Member> members);

  static Json array();
  static Json object();

  /// The member of that name, made if there is none; members are printed in the order in which they were made.
  Json& operator[](std::string_view name);
  /// What was null is an array then.
  void push_back(Json element);
  /// In one line, without blanks.
  std::string dump() const;

 private:
  enum class Kind : unsigned char { plain, array, object };
  void print(std::string& to) const;

  Kind kind_ = Kind::plain;
  std::string text_ = "null";       // as it is printed
  std::vector<std::string> names_;  // of an object's elements
  std::vector<Json> elements_;
};

struct Json::Member {
  std::string_view name;
  Json value;
};

}  // namespace weft
