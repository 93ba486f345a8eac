// :spy NAME [MODE MODE] [FILE].
#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "frontend/repl/commands.h"
#include "frontend/repl/file_argument.h"
#include "frontend/repl/spy.h"
#include "frontend/terminal.h"

namespace weft {
namespace {

constexpr std::size_t picture_cells = 1024;

struct SpyRequest {
  std::string name;
  std::vector<std::size_t> modes;
  std::string path;
};

Expected<SpyRequest> parse(const std::string& argument) {
  const auto wrong = [&] { return input_error(fmt::format(":spy wants NAME [MODE MODE] [FILE.png|FILE.svg], not '{}'", argument)); };
  const std::size_t end = std::min(argument.find_first_of(" \t"), argument.size());
  SpyRequest request{argument.substr(0, end), {}, ""};
  std::string rest = argument.substr(end);
  while (true) {
    rest.erase(0, rest.find_first_not_of(" \t"));
    const std::size_t word = std::min(rest.find_first_of(" \t"), rest.size());
    std::size_t mode = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + word, mode);
    if (word == 0 || error != std::errc() || stop != rest.data() + word) break;
    request.modes.push_back(mode);
    rest.erase(0, word);
  }
  FileArgument file = leading_file(rest);
  request.path = std::move(file.path);
  if (!file.rest.empty() || request.name.empty() || (!request.modes.empty() && request.modes.size() != 2)) return wrong();
  if (!request.path.empty() && !request.path.ends_with(".png") && !request.path.ends_with(".svg")) {
    return input_error(fmt::format("{}: pictures are written as .png or .svg", request.path));
  }
  return request;
}

Expected<std::array<std::size_t, 2>> modes_of(const SpyRequest& request, const Tensor& tensor) {
  if (tensor.order() == 0) return input_error(fmt::format("{} is a scalar: it has no pattern", request.name));
  if (request.modes.empty()) return std::array<std::size_t, 2>{0, tensor.order() == 1 ? std::size_t{0} : 1};
  for (const std::size_t mode : request.modes) {
    if (mode >= tensor.order()) {
      return input_error(
          fmt::format("{} has {} modes, the first of which is mode 0: there is no mode {}", request.name, tensor.order(), mode));
    }
  }
  if (request.modes[0] == request.modes[1]) return input_error("rows and columns of a picture are two modes");
  return std::array<std::size_t, 2>{request.modes[0], request.modes[1]};
}

/// Characters that a picture may take.
winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {24, 80, 0, 0};
  return size;
}

/// As many cells as keep the proportions of the extents within the space: neither side more than four times the other.
std::array<std::size_t, 2> cells(std::uint64_t height, std::uint64_t width, std::size_t most_rows, std::size_t most_columns) {
  if (height <= most_rows && width <= most_columns) return {most_rows, most_columns};
  const double ratio = std::clamp(static_cast<double>(height) / static_cast<double>(std::max<std::uint64_t>(width, 1)), 0.25, 4.0);
  const double columns = std::min(static_cast<double>(most_columns), static_cast<double>(most_rows) / ratio);
  return {std::max<std::size_t>(4, static_cast<std::size_t>(columns * ratio)), std::max<std::size_t>(2, static_cast<std::size_t>(columns))};
}

}  // namespace

Expected<void> command_spy(Repl& repl, const std::string& argument) {
  const auto request = parse(argument);
  if (!request) return std::unexpected(request.error());
  const auto tensor = repl.tensor(request->name);
  if (!tensor) return std::unexpected(tensor.error());
  const auto modes = modes_of(*request, *tensor);
  if (!modes) return std::unexpected(modes.error());
  const std::uint64_t height = tensor->order() == 1 ? 1 : tensor->extents()[(*modes)[0]];
  const std::uint64_t width = tensor->extents()[(*modes)[1]];
  const Cancellation& cancellation = repl.resources().cancellation;
  if (!request->path.empty()) {
    if (auto place = writable_place(request->path); !place) return place;
    const auto [rows, columns] = cells(height, width, picture_cells, picture_cells);
    const auto grid = spy(*tensor, *modes, rows, columns, cancellation);
    if (!grid) return std::unexpected(grid.error());
    auto picture =
        request->path.ends_with(".svg") ? spy_svg(*grid, fmt::format("{}: {}", request->name, tensor->summary())) : spy_png(*grid);
    if (!picture) return std::unexpected(picture.error());
    return write_text(request->path, *picture);
  }
  const winsize size = terminal_size();
  const auto [rows, columns] = cells(height, width, 4 * (std::max<std::size_t>(size.ws_row, 10) - 4), 2 * size.ws_col);
  const auto grid = spy(*tensor, *modes, rows, columns, cancellation);
  if (!grid) return std::unexpected(grid.error());
  const std::string axes = tensor->order() == 1 ? "" : fmt::format("rows mode {}, columns mode {}, ", (*modes)[0], (*modes)[1]);
  return repl.print(
      fmt::format("{}{}: {}{} entries, at most {} in a dot\n", braille(*grid), request->name, axes, grid->entries, grid->fullest));
}

}  // namespace weft
