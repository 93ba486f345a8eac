// What an explanation says of tensors that are planned otherwise than they are given: their layouts as --format has them, and what laying
// operands out takes before the run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/network/exposure.h"
#include "engine/plan/explain/explained.h"
#include "engine/plan/machine.h"
#include "frontend/named_operands.h"

namespace weft {

class ToldLayouts {
 public:
  explicit ToldLayouts(const Machine& machine) : machine_(machine) {}

  /// An operand before there is a plan: stored in another format than it is given in where one is pinned, or was chosen for its price.
  void laid_out(const std::string& name, const OperandFacts& given, const OperandFacts& stored, bool chosen);
  /// The same of figures alone, which do not tell how full blocks are.
  void taken_full(const std::string& name, const Format& format, double places, double entries);
  /// An operand laid out as loops over the levels of others read it.
  void read(const std::string& name, const Tensor& given, const Tensor& stored, const ExposedTensor& as);
  /// Operands as these loops have them; `given`: of those that are no figures alone, `pinned`: formats that were asked for, by name.
  void exposed(const Exposure& exposure, const std::map<std::string, const Tensor*>& given, const std::map<std::string, Format>& pinned);
  /// A result as it is handed over.
  void handed_over(const std::string& name, const ExposedTensor& computed, const Format& format);

  /// Beside what the plan says of these tensors. Layouts that the plan itself converts keep the formats it says.
  void into(Explanation& explained, double calls) const;
  /// In lines of their own.
  std::string text() const;

 private:
  /// A tensor beside its line in the plan. Empty texts leave what stands there.
  struct Told {
    std::string format;              ///< canonical
    std::string kept;                ///< why it stays as it is given
    std::string from;                ///< the format it is given in, where it is laid out
    std::vector<std::string> steps;  ///< "to ds:0,1, as its layout is pinned"
    std::string then;                ///< done to it afterwards
    double ns = 0;                   ///< of all steps, once
  };

  const Machine& machine_;
  std::map<std::string, Told> told_;
  std::vector<std::string> definitions_;  // of indices, by levels
  std::vector<std::string> pinned_;       // "M from ds:0,1 to ss:1,0"
  std::vector<std::string> chosen_;
  std::vector<std::string> full_;
  std::vector<std::string> met_;  // operands that meet levels of others
};

}  // namespace weft
