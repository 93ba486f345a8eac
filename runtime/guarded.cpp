#include "runtime/guarded.h"

#include <string>

namespace weft {

Error out_of_memory(std::initializer_list<std::string_view> doing) noexcept {
  constexpr std::string_view short_of_memory = "out of memory";  // fits into a string without an allocation
  Error error{.kind = ErrorKind::resource, .message = {}, .code = ErrorCode::out_of_memory};
  const bool told = had_memory_for([&] {
    std::string message(short_of_memory);
    message += " while ";
    for (const std::string_view part : doing) message += part;
    error.message = std::move(message);
  });
  if (!told) error.message = short_of_memory;
  return error;
}

}  // namespace weft
