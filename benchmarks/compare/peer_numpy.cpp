#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "compare/peers.h"
#include "core/check.h"

namespace engine::benchmarks {
namespace {

using tensor::DataType;

std::optional<int> TypeOf(DataType dtype) {
  using enum DataType;
  switch (dtype) {
    case kFloat32:
      return NPY_FLOAT32;
    case kFloat16:
      return NPY_FLOAT16;
    case kFloat64:
      return NPY_FLOAT64;
    case kInt8:
      return NPY_INT8;
    case kUInt8:
      return NPY_UINT8;
    case kInt16:
      return NPY_INT16;
    case kUInt16:
      return NPY_UINT16;
    case kInt32:
      return NPY_INT32;
    case kUInt32:
      return NPY_UINT32;
    case kInt64:
      return NPY_INT64;
    case kUInt64:
      return NPY_UINT64;
    default:
      return std::nullopt;
  }
}

struct Release {
  void operator()(PyArrayObject* array) const { Py_DECREF(array); }
};
using Array = std::unique_ptr<PyArrayObject, Release>;

Array Borrow(const std::byte* data, const Case& layout, const tensor::Strides& strides, int type,
             int item_bytes) {
  std::array<npy_intp, tensor::kMaxRank> dims{};
  std::array<npy_intp, tensor::kMaxRank> byte_strides{};
  for (int i = 0; i < layout.shape.rank(); ++i) {
    const auto axis = static_cast<std::size_t>(i);
    dims[axis] = layout.shape.dim(i);
    byte_strides[axis] = strides[i] * item_bytes;
  }
  PyObject* const array =
      PyArray_New(&PyArray_Type, layout.shape.rank(), dims.data(), type, byte_strides.data(),
                  const_cast<std::byte*>(data), 0, NPY_ARRAY_WRITEABLE, nullptr);
  ENGINE_CHECK(array != nullptr, "PyArray_New failed");
  PyArray_UpdateFlags(reinterpret_cast<PyArrayObject*>(array), NPY_ARRAY_UPDATE_ALL);
  return Array(reinterpret_cast<PyArrayObject*>(array));
}

class NumPy final : public Contender {
 public:
  explicit NumPy(std::string version) : version_(std::move(version)) {}
  [[nodiscard]] std::string name() const override { return "NumPy"; }
  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    const Case& layout = *task.layout;
    const std::optional<int> dst_type = TypeOf(layout.dst);
    const std::optional<int> src_type = TypeOf(layout.src);
    if (!dst_type.has_value() || !src_type.has_value()) return nullptr;
    Array dst =
        Borrow(task.dst, layout, layout.dst_strides, *dst_type, tensor::itemsize(layout.dst));
    Array src =
        Borrow(task.src, layout, layout.src_strides, *src_type, tensor::itemsize(layout.src));
    return MakeJob([dst = std::move(dst), src = std::move(src)] {
      ENGINE_CHECK(PyArray_CopyInto(dst.get(), src.get()) == 0, "PyArray_CopyInto failed");
    });
  }

 private:
  std::string version_;
};

// The macro returns on a failure.
int ImportArray() {
  import_array1(-1);
  return 0;
}

std::string PythonError() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* const text = value == nullptr ? nullptr : PyObject_Str(value);
  return text == nullptr ? "unknown error" : PyUnicode_AsUTF8(text);
}

}  // namespace

PeerOr MakeNumPy() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  // The interpreter whose NumPy CMake found, not the first python3 of the PATH.
  PyConfig_SetBytesString(&config, &config.program_name, ENGINE_PYTHON_EXECUTABLE);
  config.install_signal_handlers = 0;
  const PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) return core::InternalError("Python: {}", status.err_msg);
  if (ImportArray() < 0) return core::InternalError("importing numpy: {}", PythonError());
  PyObject* const module = PyImport_ImportModule("numpy");
  PyObject* const version = PyObject_GetAttrString(module, "__version__");
  return std::make_unique<NumPy>(PyUnicode_AsUTF8(version));
}

}  // namespace engine::benchmarks
