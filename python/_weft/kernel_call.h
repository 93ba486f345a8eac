// One call of a kernel: operands bound, memory for results found, the run, results handed over.
#pragma once

#include <memory>
#include <vector>

#include "python/_weft/kernel.h"
#include "python/_weft/operand.h"
#include "python/_weft/shared_arrays.h"

namespace weft_python {

class KernelCall {
 public:
  /// `given` and `named` are dicts or NULL that hold the operands between them; `out` is None, an array, or for several
  /// results a sequence or a mapping of them.
  KernelCall(PyObject* object, PyObject* given, PyObject* named, PyObject* out);
  ~KernelCall();
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;
  /// What the caller gets; NULL with an error set.
  PyObject* run();

 private:
  /// Where a dense result goes.
  struct Output {
    Ref array;   ///< what the caller gets
    Ref memory;  ///< what the kernel writes to, if that is another
    DenseView view;
    Bounds place;  ///< of the caller's array; without a begin where it is not read where it lies
  };

  bool read_operands();
  bool find_outputs();
  bool take_output(const KernelResult& result, PyObject* array, Output& output);
  Ref fresh(const KernelResult& result) const;
  bool bind();
  bool execute(weft_evaluation** made);
  Ref handed_over(const KernelResult& result, Output& output, const weft_evaluation* evaluation);
  int sharing(const weft_tensor* result);
  Ref copied(const KernelResult& result, const weft_tensor* tensor) const;
  PyObject* wrong_operands() const;

  PyObject* object_;
  Kernel& kernel_;
  PyObject* given_;
  PyObject* named_;
  PyObject* out_;
  std::vector<Operand> operands_;
  std::vector<Output> outputs_;
  std::vector<ArraysOf> results_;  ///< sparse ones that the caller has
  bool with_outputs_ = false;
  bool known_time_ = false;
  std::unique_ptr<Frame> frame_;
};

}  // namespace weft_python
