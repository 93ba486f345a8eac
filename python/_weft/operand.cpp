#include "python/_weft/operand.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "python/_weft/engine.h"
#include "python/_weft/errors.h"
#include "python/_weft/object.h"
#include "python/_weft/policy.h"
#include "python/_weft/tensor.h"

namespace weft_python {
namespace {

/// What the package says of a type.
struct TypeKind {
  Kind kind = Kind::other;
  bool matrix = false;  ///< a class of matrices: "csr_matrix"
};

TypeKind asked(PyTypeObject* type) {
  const Ref word =
      Ref::taken(PyObject_CallFunctionObjArgs(policy().kind_of, reinterpret_cast<PyObject*>(type), nullptr));
  const char* const text = word ? PyUnicode_AsUTF8AndSize(word.get(), nullptr) : nullptr;
  if (!text) {
    PyErr_Clear();
    return {};
  }
  const bool matrix = std::strstr(text, "_matrix") != nullptr;
  if (std::strcmp(text, "dense") == 0) return {Kind::dense, false};
  if (std::strncmp(text, "csr", 3) == 0) return {Kind::csr, matrix};
  if (std::strncmp(text, "csc", 3) == 0) return {Kind::csc, matrix};
  if (std::strncmp(text, "bsr", 3) == 0) return {Kind::bsr, matrix};
  if (std::strncmp(text, "dia", 3) == 0) return {Kind::dia, matrix};
  if (std::strncmp(text, "coo", 3) == 0) return {Kind::coo, matrix};
  return {Kind::other, matrix};
}

Arrangement arrangement_of(Kind kind) {
  return kind == Kind::csc   ? Arrangement::columns
         : kind == Kind::bsr ? Arrangement::blocks
         : kind == Kind::dia ? Arrangement::diagonals
         : kind == Kind::coo ? Arrangement::entries
                             : Arrangement::rows;
}

enum class Read { done, other, failed };

bool loses_digits(PyObject* number) {
  if (!PyLong_CheckExact(number)) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  constexpr long long exact = 1LL << 53;
  return overflow != 0 || value > exact || value < -exact;
}

Read read_in_place(const char* name, Operand& operand) {
  PyObject* const object = operand.object.get();
  switch (operand.kind) {
    case Kind::number:
      if (loses_digits(object)) {
        raise_input(name, "%s: an integer beyond 2**53 would lose digits; write float(%s)", name,
                    std::strchr(name, ' ') ? "number" : name);  // "the tensor" is no name
        return Read::failed;
      }
      operand.number = PyFloat_AsDouble(object);
      return operand.number == -1.0 && PyErr_Occurred() ? Read::failed : Read::done;
    case Kind::dense: {
      const DenseRead read = read_dense(object, false, operand.dense);
      return read == DenseRead::done ? Read::done : read == DenseRead::failed ? Read::failed : Read::other;
    }
    case Kind::csr:
    case Kind::csc:
    case Kind::bsr:
    case Kind::dia:
    case Kind::coo: {
      operand.matrix = {};
      const CompressedRead read =
          read_compressed(object, arrangement_of(operand.kind), name, operand.matrix, operand.arrays);
      return read == CompressedRead::done ? Read::done : read == CompressedRead::failed ? Read::failed : Read::other;
    }
    case Kind::tensor:
      return Read::done;
    case Kind::other:
      break;
  }
  return Read::other;
}

template <class Number>
void append(std::string& key, Number number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

int Operand::order() const {
  switch (kind) {
    case Kind::dense:
      return dense.order;
    case Kind::csr:
    case Kind::csc:
    case Kind::bsr:
    case Kind::dia:
    case Kind::coo:
      return 2;
    case Kind::tensor:
      return static_cast<int>(weft_tensor_order(value_of<Tensor>(object.get()).tensor.get()));
    default:
      return 0;
  }
}

std::uint64_t Operand::extent(std::uint32_t mode) const {
  switch (kind) {
    case Kind::dense:
      return static_cast<int>(mode) < dense.order ? dense.extents[mode] : 0;
    case Kind::csr:
    case Kind::csc:
    case Kind::bsr:
    case Kind::dia:
    case Kind::coo:
      return mode == 0 ? matrix.rows : matrix.columns;
    case Kind::tensor:
      return weft_tensor_extent(value_of<Tensor>(object.get()).tensor.get(), mode);
    default:
      return 0;
  }
}

Kind kind_of(PyObject* object, bool* matrix_class) {
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object)) return Kind::number;
  if (is_tensor(object)) return Kind::tensor;
  // Types that are kept alive, so that none takes the place of another.
  static auto* const known = new std::unordered_map<PyTypeObject*, TypeKind>;
  PyTypeObject* const type = Py_TYPE(object);
  const auto found = known->find(type);
  const TypeKind kind = found != known->end() ? found->second : asked(type);
  if (matrix_class) *matrix_class = kind.matrix;
  if (found != known->end()) return kind.kind;
  if (known->size() < 1000) {
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    known->emplace(type, kind);
  }
  return kind.kind;
}

bool read_operand(const char* name, PyObject* object, Operand& operand) {
  operand.object = Ref::shared(object);
  operand.kind = kind_of(object, &operand.matrix_class);
  Read read = read_in_place(name, operand);
  if (read == Read::other) {
    const Ref text = Ref::taken(PyUnicode_FromString(name));
    if (!text) return false;
    operand.object = Ref::taken(PyObject_CallFunctionObjArgs(policy().adapt, text.get(), object, nullptr));
    if (!operand.object) return false;
    operand.kind = kind_of(operand.object.get(), &operand.matrix_class);
    read = read_in_place(name, operand);
    if (read == Read::other) {
      const Ref type = Ref::taken(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
      const char* const word = type ? PyUnicode_AsUTF8AndSize(type.get(), nullptr) : nullptr;
      if (word) raise_input(name, "%s: an object of type %s cannot be read", name, word);
    }
  }
  return read == Read::done;
}

void settle_numbers(std::vector<Operand>& operands) {
  bool others = false, single = true;
  for (const Operand& operand : operands) {
    if (operand.kind == Kind::number) continue;
    others = true;
    const std::int32_t scalar = operand.kind == Kind::tensor ? weft_tensor_scalar(value_of<Tensor>(operand.object.get()).tensor.get())
                                : is_matrix(operand.kind)    ? operand.matrix.scalar
                                                             : operand.dense.scalar;
    single = single && scalar == WEFT_F32;
  }
  for (Operand& operand : operands) operand.single = operand.kind == Kind::number && others && single;
}

bool write_number(const char* name, const Operand& operand, double& place, DenseView& view) {
  const auto single = static_cast<float>(operand.number);
  if (operand.single && std::isinf(single) && !std::isinf(operand.number)) {
    raise_input(name, "%s=%R is beyond f4, the type of the other operands; write np.float64(%s)", name, operand.object.get(), name);
    return false;
  }
  std::memcpy(&place, operand.single ? static_cast<const void*>(&single) : &operand.number, operand.single ? sizeof single : sizeof place);
  view = {};
  view.values = &place;
  view.scalar = operand.single ? WEFT_F32 : WEFT_F64;
  return true;
}

void append_signature(std::string& key, const Operand& operand) {
  key += static_cast<char>(operand.kind);
  key += operand.matrix_class ? 'm' : 'a';
  switch (operand.kind) {
    case Kind::dense:
      key += static_cast<char>(operand.dense.scalar);
      append(key, operand.dense.order);
      key.append(reinterpret_cast<const char*>(operand.dense.extents.data()),
                 sizeof(std::uint64_t) * static_cast<std::size_t>(operand.dense.order));
      key += operand.dense.arrangement();
      break;
    case Kind::csr:
    case Kind::csc:
    case Kind::bsr:
    case Kind::dia:
    case Kind::coo:
      key += static_cast<char>(operand.matrix.scalar);
      key += static_cast<char>(operand.matrix.index_bits);
      append(key, operand.matrix.rows);
      append(key, operand.matrix.columns);
      append(key, operand.matrix.block_rows);
      append(key, operand.matrix.block_columns);
      append(key, std::bit_width(operand.matrix.nnz));
      break;
    case Kind::tensor: {
      const Tensor& tensor = value_of<Tensor>(operand.object.get());
      const std::uint32_t order = weft_tensor_order(tensor.tensor.get());
      key += static_cast<char>(weft_tensor_scalar(tensor.tensor.get()));
      key += tensor.borrowed() ? 'b' : 'o';
      key += weft_tensor_format(tensor.tensor.get());
      key += '\0';
      for (std::uint32_t mode = 0; mode < order; ++mode) append(key, weft_tensor_extent(tensor.tensor.get(), mode));
      append(key, std::bit_width(weft_tensor_nnz(tensor.tensor.get())));
      break;
    }
    default:
      break;
  }
}

PyObject* signature(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *prefix = nullptr, *operands = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO!", &prefix, &PyDict_Type, &operands)) return nullptr;
    Py_ssize_t length = 0;
    const char* const start = PyUnicode_AsUTF8AndSize(prefix, &length);
    if (!start) return nullptr;
    std::string key(start, static_cast<std::size_t>(length));
    Ref read = Ref::shared(operands);
    PyObject *name = nullptr, *object = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(operands, &at, &name, &object);) {
      Py_ssize_t name_length = 0;
      const char* const text = text_of(name) ? PyUnicode_AsUTF8AndSize(name, &name_length) : nullptr;
      Operand operand;
      if (!text || !read_operand(text, object, operand)) return nullptr;
      if (operand.object.get() != object) {
        if (read.get() == operands) read = Ref::taken(PyDict_Copy(operands));
        if (!read || PyDict_SetItem(read.get(), name, operand.object.get()) != 0) return nullptr;
      }
      key += '\0';
      key.append(text, static_cast<std::size_t>(name_length));
      key += '\0';
      append_signature(key, operand);
    }
    const Ref bytes = Ref::taken(PyBytes_FromStringAndSize(key.data(), static_cast<Py_ssize_t>(key.size())));
    return bytes ? PyTuple_Pack(2, bytes.get(), read.get()) : nullptr;
  });
}

}  // namespace weft_python
