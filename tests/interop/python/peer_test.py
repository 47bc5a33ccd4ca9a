"""Exchanges files and DLPack capsules with NumPy, ml_dtypes and safetensors.

    peer_test.py LIBRARY

Exits with 77 (ctest: skipped) and a list of what is missing where a package is not installed, or
with 1 when ENGINE_REQUIRE_PYTHON is set.
"""

import ctypes
import gc
import json
import os
import struct
import sys
import tempfile
import unittest
import weakref

missing = []
for name in ("numpy", "ml_dtypes", "safetensors"):
    try:
        __import__(name)
    except ImportError:
        missing.append(name)
if not missing:
    import numpy
    if int(numpy.__version__.split(".")[0]) < 2:
        missing.append("numpy >= 2 (found %s)" % numpy.__version__)
if missing:
    print("!!! SKIPPED: Python packages missing: %s" % ", ".join(missing))
    print("!!! install them for %s, or point ENGINE_PYTHON to another" % sys.executable)
    sys.exit(1 if os.environ.get("ENGINE_REQUIRE_PYTHON") else 77)

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import safetensors  # noqa: E402
import safetensors.numpy  # noqa: E402

LIBRARY = sys.argv.pop(1)


def load_library():
    engine = ctypes.CDLL(LIBRARY)
    pointer, text, integer = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
    for name, result, arguments in (
        ("error", text, []),
        ("deletions", integer, []),
        ("copy_npy", ctypes.c_bool, [text, text, ctypes.c_int]),
        ("copy_safetensors", ctypes.c_bool, [text, text]),
        ("copy_sharded", ctypes.c_bool, [text, text, ctypes.c_uint64]),
        ("counted_tensor", pointer, [integer, integer, ctypes.c_bool]),
        ("load_npy", pointer, [text]),
        ("transpose", pointer, [pointer]),
        ("slice", pointer, [pointer, ctypes.c_int, integer, integer]),
        ("free", None, [pointer]),
        ("address", ctypes.c_uint64, [pointer]),
        ("is_read_only", ctypes.c_bool, [pointer]),
        ("fill", ctypes.c_bool, [pointer, ctypes.c_double]),
        ("text", text, [pointer]),
        ("save_npy", ctypes.c_bool, [pointer, text]),
        ("export", pointer, [pointer]),
        ("export_unversioned", pointer, [pointer]),
        ("import", pointer, [pointer]),
        ("import_unversioned", pointer, [pointer]),
    ):
        function = getattr(engine, "engine_" + name)
        function.restype, function.argtypes = result, arguments
    return engine


ENGINE = load_library()
engine_import = getattr(ENGINE, "engine_import")
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ml_dtypes.bfloat16]

capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype = ctypes.py_object
capsule_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsule_rename = ctypes.pythonapi.PyCapsule_SetName
capsule_rename.restype = ctypes.c_int
capsule_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Names are kept by the capsules, not copied.
NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}


class Lent:
    """A tensor of ours as numpy.from_dlpack takes it."""

    def __init__(self, tensor, versioned=True):
        self.tensor, self.versioned = tensor, versioned

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        export = ENGINE.engine_export if self.versioned else ENGINE.engine_export_unversioned
        managed = export(self.tensor)
        if not managed:
            raise BufferError(ENGINE.engine_error().decode())
        return capsule_new(managed, NAMES[self.versioned], None)


def borrow(array, versioned=True):
    """An array as a tensor of ours, or None."""
    capsule = array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    managed = capsule_pointer(capsule, NAMES[versioned])
    capsule_rename(capsule, USED[versioned])
    return engine_import(managed) if versioned else ENGINE.engine_import_unversioned(managed)


def all_bits(dtype, shape):
    """Random bit patterns: NaN payloads, infinities and subnormals included."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    rng = np.random.default_rng(1)
    if dtype == np.bool_:
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype=dtype).reshape(shape)


class FileTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name).encode()

    def check(self, done):
        self.assertTrue(done, ENGINE.engine_error().decode())

    def assert_equal_bits(self, actual, expected):
        self.assertEqual(actual.shape, expected.shape)
        self.assertEqual(actual.dtype, expected.dtype)
        self.assertEqual(actual.tobytes(), expected.tobytes())


class NpyTest(FileTest):
    def arrays(self):
        for dtype in DTYPES:
            base = all_bits(dtype, (3, 4, 5))
            yield base
            yield np.asfortranarray(base)
            yield base.T
            yield base.reshape(60)
            yield all_bits(dtype, ())
            yield all_bits(dtype, (0,))
            yield all_bits(dtype, (3, 0, 2))
            yield np.asfortranarray(all_bits(dtype, (1, 7)))
            yield all_bits(dtype, (1, 1, 2, 1, 3, 1, 2, 2))

    def test_there_and_back_byte_for_byte(self):
        """What numpy.save writes, read and written by us, is the same file."""
        for array in self.arrays():
            with self.subTest(dtype=array.dtype, shape=array.shape, flags=array.flags.fnc):
                np.save(self.path("a.npy").decode(), array)
                self.check(ENGINE.engine_copy_npy(self.path("a.npy"), self.path("b.npy"), 1))
                with open(self.path("a.npy"), "rb") as a, open(self.path("b.npy"), "rb") as b:
                    self.assertEqual(a.read(), b.read())
                back = np.load(self.path("b.npy").decode())
                self.assert_equal_bits(back.view(array.dtype), array)

    def test_versions(self):
        array = all_bits("f4", (3, 5))
        for version in (1, 2, 3):
            with open(self.path("a.npy"), "wb") as file:
                np.lib.format.write_array(file, array, version=(version, 0))
            self.check(ENGINE.engine_copy_npy(self.path("a.npy"), self.path("b.npy"), version))
            with open(self.path("a.npy"), "rb") as a, open(self.path("b.npy"), "rb") as b:
                self.assertEqual(a.read(), b.read())

    def test_what_we_refuse(self):
        for array in (np.zeros(2, ">f4"), np.zeros(2, "c8"), np.array(["text"]),
                      np.zeros(2, "M8[s]"), np.zeros(2, [("x", "f4")]), np.zeros(2, "V2"),
                      np.zeros(2, ml_dtypes.float8_e4m3fn)):
            np.save(self.path("a.npy").decode(), array)
            self.assertFalse(ENGINE.engine_copy_npy(self.path("a.npy"), self.path("b.npy"), 1))
            self.assertIn("UNIMPLEMENTED", ENGINE.engine_error().decode())
        np.save(self.path("a.npy").decode(), np.array([{}], dtype=object), allow_pickle=True)
        self.assertFalse(ENGINE.engine_copy_npy(self.path("a.npy"), self.path("b.npy"), 1))


class SafetensorsTest(FileTest):
    def tensors(self):
        tensors = {"%s %d" % (np.dtype(dtype).name, i): all_bits(dtype, shape)
                   for dtype in DTYPES
                   for i, shape in enumerate([(), (0,), (3, 0), (5,), (2, 3, 4)])}
        tensors["\u00e9 \u4e2d \"\\\n"] = all_bits("f4", (3,))
        return tensors

    def assert_same(self, path, expected, metadata):
        with safetensors.safe_open(path, framework="numpy") as file:
            self.assertEqual(set(file.keys()), set(expected))
            self.assertEqual(file.metadata() or {}, metadata)
            for name, array in expected.items():
                self.assert_equal_bits(file.get_tensor(name), array)

    def test_there_and_back(self):
        expected = self.tensors()
        for metadata in ({}, {"format": "np"}, {"big": "\u00e9\n" * 200_000, "": "empty"}):
            with self.subTest(keys=list(metadata)):
                safetensors.numpy.save_file(expected, self.path("a").decode(), metadata or None)
                self.check(ENGINE.engine_copy_safetensors(self.path("a"), self.path("b")))
                self.assert_same(self.path("b").decode(), expected, metadata)

    def test_misaligned_header(self):
        """A header that is no multiple of 8, which the reference reads too."""
        array = all_bits("f4", (3,))
        header = json.dumps({"t": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}})
        for spaces in range(8):
            text = (header + " " * spaces).encode()
            with open(self.path("a"), "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text + array.tobytes())
            self.check(ENGINE.engine_copy_safetensors(self.path("a"), self.path("b")))
            self.assert_same(self.path("b").decode(), {"t": array}, {})

    def test_sharded(self):
        """An index as model hubs write it; ours, shard by shard, through the reference."""
        tensors = self.tensors()
        names = list(tensors)
        weight_map = {}
        for i, part in enumerate((names[::2], names[1::2])):
            file = "model-%05d-of-00002.safetensors" % (i + 1)
            safetensors.numpy.save_file({name: tensors[name] for name in part},
                                        self.path(file).decode())
            weight_map.update((name, file) for name in part)
        os.mkdir(self.path("out"))
        with open(self.path("model.safetensors.index.json"), "w", encoding="utf-8") as file:
            json.dump({"metadata": {"total_size": 1}, "weight_map": weight_map}, file)
        self.check(ENGINE.engine_copy_sharded(self.path("model.safetensors.index.json"),
                                              self.path("out/x.safetensors.index.json"), 200))
        with open(self.path("out/x.safetensors.index.json"), encoding="utf-8") as file:
            index = json.load(file)
        self.assertEqual(set(index["weight_map"]), set(tensors))
        self.assertEqual(index["metadata"]["total_size"], sum(t.nbytes for t in tensors.values()))
        self.assertGreater(len(set(index["weight_map"].values())), 2)
        for name, file in index["weight_map"].items():
            with safetensors.safe_open(self.path("out/" + file).decode(), "numpy") as shard:
                self.assert_equal_bits(shard.get_tensor(name), tensors[name])


class ExportTest(FileTest):
    def setUp(self):
        super().setUp()
        self.before = ENGINE.engine_deletions()

    def deletions(self):
        gc.collect()
        return ENGINE.engine_deletions() - self.before

    def test_zero_copy_views(self):
        tensor = ENGINE.engine_counted_tensor(4, 6, False)
        expected = np.arange(24, dtype="i4").reshape(4, 6)
        part = ENGINE.engine_slice(tensor, 1, 2, 5)
        turned = ENGINE.engine_transpose(part)
        for versioned in (True, False):
            array = np.from_dlpack(Lent(turned, versioned))
            self.assertEqual(array.ctypes.data, ENGINE.engine_address(tensor) + 8)
            self.assertEqual(array.strides, (4, 24))
            np.testing.assert_array_equal(array, expected[:, 2:5].T)
            del array
        array = np.from_dlpack(Lent(part))
        self.assertTrue(array.flags.writeable)
        array[1, 1] = -7
        self.assertIn("-7", ENGINE.engine_text(tensor).decode())
        for handle in (tensor, part, turned):
            ENGINE.engine_free(handle)
        self.assertEqual(self.deletions(), 0)  # the array still has the storage
        self.assertEqual(array[1, 1], -7)
        del array
        self.assertEqual(self.deletions(), 1)

    def test_read_only(self):
        tensor = ENGINE.engine_counted_tensor(2, 3, True)
        array = np.from_dlpack(Lent(tensor))
        self.assertFalse(array.flags.writeable)
        with self.assertRaisesRegex(BufferError, "only the versioned form"):
            np.from_dlpack(Lent(tensor, versioned=False))
        ENGINE.engine_free(tensor)
        del array
        self.assertEqual(self.deletions(), 1)

    def test_without_elements(self):
        tensor = borrow(np.zeros((3, 0, 4), "f4"))
        for versioned in (True, False):
            array = np.from_dlpack(Lent(tensor, versioned=versioned))  # data is null
            self.assertEqual((array.shape, array.dtype), ((3, 0, 4), np.dtype("f4")))
        ENGINE.engine_free(tensor)

    def test_a_mapped_file(self):
        np.save(self.path("a.npy").decode(), np.arange(6, dtype="f8").reshape(2, 3))
        tensor = ENGINE.engine_load_npy(self.path("a.npy"))
        array = np.from_dlpack(Lent(tensor))
        self.assertEqual(array.ctypes.data, ENGINE.engine_address(tensor))
        self.assertFalse(array.flags.writeable)
        ENGINE.engine_free(tensor)
        np.testing.assert_array_equal(array, np.arange(6).reshape(2, 3))


class ImportTest(FileTest):
    def test_dtypes_and_views(self):
        for dtype in DTYPES[:-1]:  # NumPy cannot lend bfloat16
            base = all_bits(dtype, (4, 5, 6))
            for array in (base, base.T, base[1:, ::2, 1:5], base[2], base[:0], base[1, 2, 3:4],
                          np.asfortranarray(base), base[:, None, :, 0]):
                array = array if array.flags.writeable else array.copy(order="K")
                for versioned in (True, False):
                    with self.subTest(dtype=dtype, shape=array.shape, versioned=versioned):
                        tensor = borrow(array, versioned)
                        self.check(tensor)
                        if array.size:
                            self.assertEqual(ENGINE.engine_address(tensor), array.ctypes.data)
                        self.check(ENGINE.engine_save_npy(tensor, self.path("a.npy")))
                        ENGINE.engine_free(tensor)
                        self.assert_equal_bits(np.load(self.path("a.npy").decode()), array)

    def test_strided_and_offset_views_are_shared(self):
        base = np.arange(40, dtype="i4").reshape(5, 8)
        view = base[1:, 2::3]
        tensor = borrow(view)
        self.assertEqual(ENGINE.engine_address(tensor), base.ctypes.data + 40)
        self.check(ENGINE.engine_fill(tensor, -1))
        ENGINE.engine_free(tensor)
        expected = np.arange(40, dtype="i4").reshape(5, 8)
        expected[1:, 2::3] = -1
        np.testing.assert_array_equal(base, expected)

    def test_read_only(self):
        array = np.arange(3.0)
        array.flags.writeable = False
        tensor = borrow(array)
        self.assertTrue(ENGINE.engine_is_read_only(tensor))
        self.assertFalse(ENGINE.engine_fill(tensor, 0))
        back = np.from_dlpack(Lent(tensor))
        self.assertFalse(back.flags.writeable)
        self.assertEqual(back.ctypes.data, array.ctypes.data)
        ENGINE.engine_free(tensor)
        np.testing.assert_array_equal(array, np.arange(3.0))

    def test_the_producer_is_released_once(self):
        class Array(np.ndarray):  # a subclass can be referred to weakly
            pass

        for make, message in (
            (lambda: np.arange(6.0), None),
            (lambda: np.arange(6.0)[::-1], "stride -1"),
            (lambda: np.zeros(6, "c16"), "type code 5"),
            (lambda: np.zeros((1,) * 9), "rank 9"),
        ):
            array = make().view(Array)
            gone = weakref.ref(array)
            count = sys.getrefcount(array)
            tensor = borrow(array)
            if message is None:
                self.assertEqual(sys.getrefcount(array), count + 1)
                del array
                gc.collect()
                self.assertIsNotNone(gone())
                ENGINE.engine_free(tensor)
            else:
                self.assertIsNone(tensor)
                self.assertIn(message, ENGINE.engine_error().decode())
                self.assertEqual(sys.getrefcount(array), count)
                del array
            gc.collect()
            self.assertIsNone(gone())


if __name__ == "__main__":
    print("Python %s, numpy %s, ml_dtypes %s, safetensors %s" %
          (sys.version.split()[0], np.__version__, ml_dtypes.__version__, safetensors.__version__))
    unittest.main(verbosity=2)
