// _weft.Kernel: a kernel of weft.h, called with Python's objects.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/_weft/bound_operand.h"
#include "python/_weft/handles.h"
#include "python/_weft/python.h"

namespace weft_python {

/// A result, and where its extents come from.
struct KernelResult {
  std::string name;
  Ref key;  ///< the name as Python's
  std::string format;
  std::int32_t scalar = 0;
  std::uint32_t order = 0;
  bool dense = false;
  struct Extent {
    std::size_t operand = 0;  ///< number of the operand
    std::uint32_t mode = 0;
  };
  std::vector<Extent> extents;
};

struct KernelOperand {
  std::string name;
  Ref key;
  int order = 0;
};

/// Bindings for one call at a time. Those with outputs write to memory of the caller, the others hand tensors over.
struct Frame {
  BindingsHandle bindings;
  std::vector<std::unique_ptr<BoundOperand>> operands;
  std::vector<DenseView> outputs;  ///< by result, those that are bound
  double last_ns = 0;              ///< of the last run over operands of these shapes; 0: none
};

struct Kernel {
  Ref engine;
  KernelHandle kernel;
  std::vector<KernelOperand> operands;
  std::vector<KernelResult> results;
  bool matrix = false;  ///< scipy results are matrices, not arrays
  Ref tuple;            ///< makes what the caller gets of the results, in the order of their names; NULL: there is one
  std::vector<std::unique_ptr<Frame>> idle, idle_with_outputs;
};

bool add_kernel_type(PyObject* module);
/// The class of the kernels that are made: a subclass of _weft.Kernel.
bool set_kernel_class(PyObject* type);

/// Engine.compile(text, operands, request, matrix) -> Kernel: for operands like these.
PyObject* compile(PyObject* engine, PyObject* arguments);
/// Engine._saved_kernel(bytes, orders, matrix) -> Kernel: what Kernel._saved gave.
PyObject* saved_kernel(PyObject* engine, PyObject* arguments);

}  // namespace weft_python
