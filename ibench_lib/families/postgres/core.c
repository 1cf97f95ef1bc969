/* The protocol of PostgreSQL, version 3, for `exchange.h`. `wire.py` has the same in Python, and `compiled.py` puts the
   two together. */

#define CORE "ibench_lib.families.postgres._core"
#include "../../client/exchange.h"

enum {
    HEADER = 5,            /* a type, and an int32 length that includes itself */
    LENGTH = 4,
    LARGEST = 1 << 24,     /* a command of more is Python's */
    MOST_DIGITS = 19,
    TEXT = 'Q',            /* a command: the text of a query; behind any other byte are messages */
    COMPLETE = 'C', ROW = 'D', READY = 'Z', DESCRIPTION = 'T', EMPTY = 'I'
};

/* Notices, settings, and what says that a step of the extended protocol is done. */
static const char PASSED[] = "NSAK123nst";

static inline uint32_t number(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return be32toh(value);
}

static int is_usual_command(const uint8_t *command, size_t size) { return size > 0 && size < LARGEST; }

static Frame frame_of(const uint8_t *command, size_t size)
{
    if (*command != TEXT)
        return (Frame){.skipped = 1};
    Frame frame = {.before = {TEXT}, .size = HEADER, .skipped = 1, .after = 1};
    uint32_t length = htobe32((uint32_t)size + LENGTH); /* the byte that is skipped counts for the zero */
    memcpy(frame.before + 1, &length, sizeof length);
    return frame;
}

/* A row as a tuple of bytes, and None for NULL. NULL, without an exception if it is not as long as it says. */
static PyObject *row_of(Bytes row)
{
    if (left(&row) < 2)
        return NULL;
    Py_ssize_t count = row.at[0] << 8 | row.at[1];
    row.at += 2;
    if (left(&row) < count * LENGTH)
        return NULL;
    PyObject *values = PyTuple_New(count);
    for (Py_ssize_t i = 0; values && i < count; i++) {
        int32_t size = left(&row) < LENGTH ? 0 : (int32_t)number(row.at);
        int is_whole = left(&row) >= LENGTH && left(&row) - LENGTH >= size;
        PyObject *value = NULL;
        if (is_whole) {
            row.at += LENGTH;
            value = size < 0 ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize((const char *)row.at, size);
            row.at += size < 0 ? 0 : size;
        }
        if (value)
            PyTuple_SET_ITEM(values, i, value);
        else
            Py_CLEAR(values);
    }
    if (values && left(&row))
        Py_CLEAR(values);
    return values;
}

/* The end of a statement, such as `INSERT 0 100` or `SELECT 10`: the rows that it says, those `returned` if it says none.
   0 where Python finds out. */
static int rows_said(Bytes tag, uint64_t returned, int described, uint64_t *said)
{
    if (!left(&tag) || tag.end[-1] != 0)
        return 0;
    tag.end--;
    const uint8_t *digits = tag.end;
    while (digits > tag.at && digits[-1] != ' ')
        digits--;
    Py_ssize_t word = digits > tag.at ? digits - 1 - tag.at : 0, many = tag.end - digits;
    int is_number = many > 0 && many <= MOST_DIGITS;
    *said = 0;
    for (const uint8_t *at = digits; is_number && at < tag.end; at++) {
        is_number = *at >= '0' && *at <= '9';
        *said = *said * 10 + (uint64_t)(*at - '0');
    }
    if (!is_number)
        *said = returned;
    int is_select = word == 6 && memcmp(tag.at, "SELECT", 6) == 0;
    return !(is_select && (returned || described) && *said != returned);
}

static Outcome answer(Bytes data, const Question *asked, uint64_t *count, PyObject *rows)
{
    uint64_t returned = 0, said;
    int described = 0;
    for (;;) {
        if (left(&data) < HEADER)
            return INCOMPLETE;
        uint8_t kind = *data.at;
        uint32_t length = number(data.at + 1);
        if (length < LENGTH || length > ROOM)
            return UNUSUAL;
        if (left(&data) - 1 < (Py_ssize_t)length)
            return INCOMPLETE;
        Bytes body = {data.at + HEADER, data.at + 1 + length};
        data.at = body.end;
        if (kind == ROW) {
            returned++;
            PyObject *row = rows ? row_of(body) : NULL;
            if (rows && !row)
                return PyErr_Occurred() ? FAILED : UNUSUAL;
            int failed = row ? PyList_Append(rows, row) : 0;
            Py_XDECREF(row);
            if (failed)
                return FAILED;
        } else if (kind == COMPLETE) {
            if (!rows_said(body, returned, described, &said) || said > UINT64_MAX - *count)
                return UNUSUAL;
            *count += said;
            returned = 0, described = 0;
        } else if (kind == READY)
            return left(&data) ? UNUSUAL : WHOLE;
        else if (kind == DESCRIPTION)
            described = 1;
        else if (kind != EMPTY && (kind == 0 || !strchr(PASSED, kind)))
            return UNUSUAL;
    }
}

/* A value after its length. */
static Py_ssize_t parameter(char code, PyObject *value, uint8_t *into, Py_ssize_t room)
{
    int64_t number;
    Py_ssize_t size = code == 'q' ? 8 : 4;
    if (code == 's' && (!PyBytes_CheckExact(value) || (size = PyBytes_GET_SIZE(value)) > SMALL))
        return -1;
    if (room < LENGTH + size || (code != 's' && !integer(code, value, &number)))
        return -1;
    uint32_t length = htobe32((uint32_t)size);
    memcpy(into, &length, sizeof length);
    if (code == 's')
        memcpy(into + LENGTH, PyBytes_AS_STRING(value), (size_t)size);
    else {
        uint64_t bits = htobe64((uint64_t)number << (64 - 8 * size)); /* its last bytes, first */
        memcpy(into + LENGTH, &bits, (size_t)size);
    }
    return LENGTH + size;
}

/* The length of Bind, which stands behind the mark and the type, and two zeros follow its values. */
static void completed(uint8_t *command, Py_ssize_t size)
{
    uint32_t length = htobe32((uint32_t)size);
    memcpy(command + 2, &length, sizeof length);
}

PyMODINIT_FUNC PyInit__core(void)
{
    return core_module();
}
