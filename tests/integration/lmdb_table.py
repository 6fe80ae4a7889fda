"""A table of an LMDB environment, changed behind the program's back: what a failing disk or memory
does to a database, since LMDB has no checksums. Uses the C library directly."""
import contextlib
import ctypes

FIRST, NEXT = 0, 8  # MDB_cursor_op
NOT_FOUND = -30798
MAP_BYTES = 1 << 34
TABLES = 32


class Value(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p)]

    @staticmethod
    def of(data):
        keep = ctypes.create_string_buffer(data, len(data) or 1)
        value = Value(len(data), ctypes.cast(keep, ctypes.c_void_p))
        value.keep = keep
        return value

    def bytes(self):
        return ctypes.string_at(self.data, self.size)


def check(code):
    if code != 0:
        raise RuntimeError(f"LMDB: {code}")


class Table:
    def __init__(self, lmdb, txn, dbi):
        self.lmdb, self.txn, self.dbi = lmdb, txn, dbi

    def items(self):
        """All keys and values, as bytes."""
        cursor, found, key, value = ctypes.c_void_p(), [], Value(), Value()
        check(self.lmdb.mdb_cursor_open(self.txn, self.dbi, ctypes.byref(cursor)))
        code = self.lmdb.mdb_cursor_get(cursor, ctypes.byref(key), ctypes.byref(value), FIRST)
        while code == 0:
            found.append((key.bytes(), value.bytes()))
            code = self.lmdb.mdb_cursor_get(cursor, ctypes.byref(key), ctypes.byref(value), NEXT)
        self.lmdb.mdb_cursor_close(cursor)
        if code != NOT_FOUND:
            check(code)
        return found

    def put(self, key, value):
        check(self.lmdb.mdb_put(self.txn, self.dbi, ctypes.byref(Value.of(key)),
                                ctypes.byref(Value.of(value)), 0))

    def delete(self, key, value=None):
        """All values of a key, or one of them."""
        one = None if value is None else ctypes.byref(Value.of(value))
        check(self.lmdb.mdb_del(self.txn, self.dbi, ctypes.byref(Value.of(key)), one))


@contextlib.contextmanager
def table(directory, name):
    """The table of that name, in one transaction, which is committed at the end."""
    lmdb = ctypes.CDLL("liblmdb.so.0")
    env, txn, dbi = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
    lmdb.mdb_env_set_mapsize.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    check(lmdb.mdb_env_create(ctypes.byref(env)))
    check(lmdb.mdb_env_set_mapsize(env, MAP_BYTES))
    check(lmdb.mdb_env_set_maxdbs(env, TABLES))
    check(lmdb.mdb_env_open(env, directory.encode(), 0, 0o644))
    check(lmdb.mdb_txn_begin(env, None, 0, ctypes.byref(txn)))
    check(lmdb.mdb_dbi_open(txn, name.encode(), 0, ctypes.byref(dbi)))
    yield Table(lmdb, txn, dbi)
    check(lmdb.mdb_txn_commit(txn))
    lmdb.mdb_env_close(env)
