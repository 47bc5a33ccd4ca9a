"""gdb pretty-printers of engine_tensor: `p tensor` shows shape, dtype and values.

    (gdb) source <prefix>/share/engine_tensor/gdb/engine_tensor_gdb.py

Or let gdb load it by itself: a copy beside a program, as `<program>-gdb.py`, in a folder that is in
gdb's auto-load safe-path. Values are read from memory; nothing is called in the program, so that
core files work as well.
"""

import struct

import gdb
import gdb.printing
import gdb.types

EDGE_ITEMS = 3

# By the value of engine::tensor::DataType: name, bytes, format of the struct module.
DTYPES = {
    0: ("float32", 4, "f"), 1: ("float16", 2, "e"), 2: ("bfloat16", 2, "bf"),
    3: ("int8", 1, "b"), 4: ("uint8", 1, "B"), 5: ("int32", 4, "i"), 6: ("int64", 8, "q"),
    7: ("bool", 1, "?"), 8: ("fp8_e4m3", 1, None), 9: ("int4", 1, None), 10: ("int16", 2, "h"),
    11: ("uint16", 2, "H"), 12: ("uint32", 4, "I"), 13: ("uint64", 8, "Q"), 14: ("float64", 8, "d"),
}


def dims_of(vector):
    """The values of a DimVector."""
    array = vector["values_"]
    array = array[array.type.strip_typedefs().fields()[0].name]  # of std::array, whatever the library calls it
    return [int(array[i]) for i in range(max(0, min(int(vector["size_"]), 8)))]


def bracketed(values):
    return "[" + ", ".join(str(value) for value in values) + "]"


def pointer_of(shared):
    """What a std::shared_ptr points to: libstdc++'s name, then libc++'s."""
    for name in ("_M_ptr", "__ptr_"):
        try:
            return shared[name]
        except gdb.error:
            pass
    raise gdb.error("unknown std::shared_ptr")


def shortest(value, code):
    """The fewest digits that read back as the same float32."""
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if code == "d":
        text = repr(value)
    else:
        for digits in range(1, 10):
            text = "%.*g" % (digits, value)
            if struct.unpack("<f", struct.pack("<f", float(text)))[0] == value:
                break
        text = repr(float(text))
    return text[:-2] if text.endswith(".0") else text


def element(memory, code):
    if code == "?":
        return "true" if memory != b"\0" else "false"
    if code == "bf":
        memory, code = b"\0\0" + memory, "f"
    value = struct.unpack("<" + code, memory)[0]
    if value != value:
        return "-nan" if memory[-1] & 0x80 else "nan"
    return shortest(value, code) if code in "efd" else str(value)


def element_limit():
    """How many elements `set print elements` allows."""
    limit = gdb.parameter("print elements")
    return limit if limit is not None and limit > 0 else float("inf")


class TensorPrinter:
    def __init__(self, value):
        self.value = value
        self.left = element_limit()

    def rows(self, address, dims, strides, size, code, axis=0):
        """Nested rows, separated as ops::to_string does."""
        if not dims:
            self.left -= 1
            return element(bytes(gdb.selected_inferior().read_memory(address, size)), code)
        indices = list(range(dims[0])) if dims[0] <= 2 * EDGE_ITEMS else (
            list(range(EDGE_ITEMS)) + [None] + list(range(dims[0] - EDGE_ITEMS, dims[0])))
        parts = []
        for i in indices:
            if i is None or self.left <= 0:
                parts.append("...")
            else:
                parts.append(self.rows(address + i * strides[0] * size, dims[1:], strides[1:], size,
                                       code, axis + 1))
            if self.left <= 0 and parts[-1] == "...":
                break
        if len(dims) == 1:
            return "[" + ", ".join(parts) + "]"
        separator = "," + "\n" * (len(dims) - 1) + " " * (axis + 1)
        return "[" + separator.join(parts) + "]"

    def to_string(self):
        buffer = pointer_of(self.value["buffer_"])
        if int(buffer) == 0:
            return "Tensor(undefined)"
        dims = dims_of(self.value["shape_"]["dims_"])
        strides = dims_of(self.value["strides_"])
        name, size, code = DTYPES.get(int(self.value["dtype_"]), ("invalid", 1, None))
        numel, expected, contiguous = 1, 1, True
        for extent, stride in zip(reversed(dims), reversed(strides)):
            contiguous = contiguous and (extent == 1 or stride == expected)
            expected *= extent
            numel *= extent
        fields = "shape=" + bracketed(dims)
        if numel > 0 and not contiguous:
            fields += ", strides=" + bracketed(strides)
        fields += ", dtype=" + name
        buffer = buffer.dereference()
        fields += ", device=" + DevicePrinter(self.value["device_"]).to_string()
        if bool(buffer["read_only_"]):
            fields += ", read-only"
        head = "Tensor(" + fields + ")"
        if int(self.value["device_"]["type_"]) != 0 or code is None:
            return head
        if numel == 0:
            return head + "\n[]"
        address = int(buffer["data_"]) + int(self.value["byte_offset_"])
        try:
            return head + "\n" + self.rows(address, dims, strides, size, code)
        except (gdb.error, OverflowError):  # of a handle that holds garbage
            return head + "\n<cannot read the elements at 0x%x>" % address


class DimVectorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return bracketed(dims_of(self.value))


class ShapePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return bracketed(dims_of(self.value["dims_"]))


class DevicePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "cpu" if int(self.value["type_"]) == 0 else "cuda:%d" % int(self.value["index_"])


class HalfPrinter:
    def __init__(self, value):
        self.value = value
        # Arguments are often references.
        self.code = "bf" if "bfloat16" in gdb.types.get_basic_type(value.type).name else "e"

    def to_string(self):
        return element(struct.pack("<H", int(self.value["bits_"])), self.code)


def build():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("engine_tensor")
    for name, printer in (("Tensor", TensorPrinter), ("Shape", ShapePrinter),
                          ("DimVector", DimVectorPrinter), ("Device", DevicePrinter),
                          ("float16", HalfPrinter), ("bfloat16", HalfPrinter)):
        printers.add_printer(name, "^engine::tensor::%s$" % name, printer)
    return printers


gdb.printing.register_pretty_printer(gdb.current_objfile(), build(), replace=True)
