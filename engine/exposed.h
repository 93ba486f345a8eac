// Tensors of an exposed network (network/exposure.h): operands as it reads them, results as they were asked for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/compiled_network.h"
#include "engine/network/exposure.h"
#include "runtime/layouts.h"

namespace weft {

/// How the tensors of a request are stored, for exposed(): operands by name, results as the options ask for them.
std::vector<StoredAs> stored_as(const Network& network, const std::map<std::string, const Tensor*>& operands, const PlanOptions& options);

/// The formats of results, and patterns, that the planned network has to have.
PlanOptions in_exposed_formats(PlanOptions options, const Exposure& exposure);

/// How a result of the planned network that is computed in a format is handed over. `given`: the formats of operands, by name,
/// for those at whose positions it may be.
Format format_handed_over(const Exposure& exposure, const Schedule& schedule, const ScheduledTensor& result, const Format& computed,
                          const std::map<std::string, Format>& given);

/// An operand as the planned network reads it, and whether its positions are those of the tensor as given.
struct ReadOperand {
  Tensor tensor;
  /// What it was made of. A reader of `tensor` holds it too, so that values are not filled in meanwhile.
  Tensor stored = {};
  bool as_given = false;
  LayoutOrigin origin = LayoutOrigin::given;
  bool padded = false;  ///< `stored` is memory of this reading alone
};
/// `changes`: values change from one run to the next. `spare`: the padded copy of an earlier reading of this operand, whose kernel has
/// ended; it is written to again where it has the extents. Errors as of laid_out().
Expected<ReadOperand> read_operand(const Exposure& exposure, TensorId operand, const Tensor& given, bool changes,
                                   const Resources& resources, const Tensor& spare = {});

/// A dense result of the planned network as the given one has it, over the same elements; nothing where these do not lie so.
std::optional<Tensor> dense_as_given(const Exposure& exposure, TensorId result, const Tensor& computed);

/// A result of the planned network in the format that format_handed_over() tells. Resource error, cancelled, or an entry that has
/// no place in a layout.
Expected<Tensor> handed_over(const Exposure& exposure, TensorId result, const Tensor& computed, const Format& format,
                             const Resources& resources);

/// The operands of a binding: read anew only where they are others than before.
class ExposedOperands {
 public:
  /// Nothing, or why the kernel does not fit them: other extents or numbers of slots, values that are not finite, entries without a place
  /// in the layout that is read. Input error for operands that are missing or of another order. `lent`: others keep the tensors alive.
  Expected<std::optional<std::string>> take(const Exposure& exposure, const std::map<std::string, Tensor>& given, const HostMemory& host,
                                            const Resources& resources);
  const std::map<std::string, Tensor>& read() const { return read_; }
  bool as_given(const std::string& name) const;
  /// Whether what is read tells of `given`, the tensors of the last take(): no change of their values was announced since.
  bool current(const std::map<std::string, Tensor>& given) const;
  /// Lets go of converted operands, which tensors of the host keep; whether there were any. Padded copies belong to the binding and stay:
  /// for another x of these extents only what lies between their zeros is written.
  bool let_go();
  std::uint64_t padded_bytes() const;

 private:
  struct Known {
    std::uint64_t pattern = 0, values = 0, version = 0;  ///< of the tensor as given
    bool as_given = false;
    Tensor stored = {};  ///< what the tensor that is read was made of, where that is not the given one
    bool padded = false;
  };
  std::map<std::string, Known> known_;
  std::map<std::string, Tensor> read_;
};

}  // namespace weft
