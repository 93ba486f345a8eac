// _weft.Tensor: a tensor of weft.h, and the objects of the host whose memory it borrows.
#pragma once

#include <cstdint>

#include "python/_weft/handles.h"
#include "python/_weft/python.h"

namespace weft_python {

struct Tensor {
  TensorHandle tensor;
  Ref engine;            ///< that it was made with
  Ref owners;            ///< of borrowed memory: a tuple, or none
  std::uint64_t serial;  ///< differs from that of every other tensor of the process

  bool borrowed() const { return owners.get() != nullptr; }
};

bool add_tensor_type(PyObject* module);
/// The type whose objects are made; a subclass of _weft.Tensor once the package has started.
bool set_tensor_class(PyObject* type);
bool is_tensor(PyObject* object);
PyObject* make_tensor(TensorHandle tensor, Ref engine, Ref owners);

}  // namespace weft_python
