/* The usual exchange of the MySQL protocol in C: one command is sent, and an answer that is whole and good is counted
   or read. `wire.py` has the same in Python; `compiled.py` puts the two together.

   Nothing is kept between calls. Whatever is not usual is handed to Python's wire with all bytes that have arrived,
   and that finds out what it is: an error, an answer in many pieces or of more than 64 KiB, a packet of 16 MB, a
   column whose values are not written as text here, and all that is malformed. So each error has one source, and
   whatever this file takes for an answer, `wire.Answer` takes for the same answer. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    LARGEST_PACKET = 0xFFFFFF,
    HEADER = 4,            /* three bytes of length, one of sequence */
    ROOM = 1 << 16,        /* for an answer */
    MOST_RECEIVES = 4,     /* of one answer; whoever drips is Python's, which has a deadline */
    MOST_COLUMNS = 64,     /* of a result that is read */
    SMALL = 1 << 12,       /* a command that is copied on the stack */
    OK = 0x00, NULL_VALUE = 0xFB, LENGTH_OF_2 = 0xFC, LENGTH_OF_3 = 0xFD, LENGTH_OF_8 = 0xFE, END = 0xFE, ERROR = 0xFF,
    SHORT_END = 9,
    MORE_RESULTS = 0x08,
    STATEMENT_EXECUTE = 0x17,
    UNSIGNED = 0x20, ZEROFILL = 0x40
};

enum { TINY = 1, SHORT = 2, LONG = 3, FLOAT = 4, DOUBLE = 5, TIMESTAMP = 7, LONGLONG = 8, INT24 = 9, DATE = 10, TIME = 11,
       DATETIME = 12, YEAR = 13 };

typedef enum {
    FAILED,     /* with an exception */
    WHOLE,      /* and good */
    INCOMPLETE, /* good so far */
    UNUSUAL     /* Python finds out */
} Outcome;

/* Bytes that have not been read yet: no pointer goes beyond `end`. */
typedef struct {
    const uint8_t *at, *end;
} Bytes;

typedef struct {
    uint8_t type;
    uint8_t is_unsigned;
} Column;

/* What is asked of an answer. */
typedef struct {
    int fetch, several, prepared, deprecate_eof;
    uint8_t due; /* the number of its first packet */
} Question;

static inline Py_ssize_t left(const Bytes *bytes) { return bytes->end - bytes->at; }

static inline uint64_t little_endian(const uint8_t *at, int width)
{
    uint64_t value = 0;
    for (int i = 0; i < width; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* A length-encoded number. 0 if it is none, or not all there. */
static inline int number(Bytes *from, uint64_t *value)
{
    if (left(from) < 1)
        return 0;
    uint8_t first = *from->at++;
    if (first < NULL_VALUE) {
        *value = first;
        return 1;
    }
    int width = first == LENGTH_OF_2 ? 2 : first == LENGTH_OF_3 ? 3 : first == LENGTH_OF_8 ? 8 : 0;
    if (width == 0 || left(from) < width)
        return 0;
    *value = little_endian(from->at, width);
    from->at += width;
    return 1;
}

/* Bytes after their length-encoded length. 0 if they are not all there. */
static inline int string(Bytes *from, Bytes *value)
{
    uint64_t size;
    if (!number(from, &size) || size > (uint64_t)left(from))
        return 0;
    value->at = from->at;
    value->end = from->at += size;
    return 1;
}

/* The body of the next packet. UNUSUAL if its number is not the one that is due, or if it is empty or of 16 MB. */
static inline Outcome packet(Bytes *data, uint8_t *due, Bytes *body)
{
    if (left(data) < HEADER)
        return INCOMPLETE;
    Py_ssize_t size = (Py_ssize_t)little_endian(data->at, 3);
    if (data->at[3] != *due || size == 0 || size == LARGEST_PACKET)
        return UNUSUAL;
    if (left(data) - HEADER < size)
        return INCOMPLETE;
    body->at = data->at + HEADER;
    data->at = body->end = body->at + size;
    ++*due;
    return WHOLE;
}

/* How the values of a column of a prepared statement are written as text. 0 for what Python writes. */
static int column_of(Bytes definition, Column *column)
{
    Bytes ignored;
    for (int i = 0; i < 6; i++) /* catalog, and schema, table and column with their own and original names */
        if (!string(&definition, &ignored))
            return 0;
    if (left(&definition) < 11) /* a length, charset, width, and what follows */
        return 0;
    const uint8_t *at = definition.at;
    uint8_t type = at[7], flags = at[8], decimals = at[10];
    column->type = type;
    column->is_unsigned = (flags & UNSIGNED) != 0;
    switch (type) {
    case TINY: case SHORT: case LONG: case INT24: case LONGLONG:
        return !(flags & ZEROFILL);
    case TIMESTAMP: case DATETIME:
        return decimals == 0;
    case FLOAT: case DOUBLE: case TIME: case YEAR:
        return 0;
    }
    return 1;
}

/* The values below are new references. They are NULL without an exception for what is left to Python. */

static PyObject *integer_value(const Column *column, Bytes *row)
{
    int width = column->type == TINY ? 1 : column->type == SHORT ? 2 : column->type == LONGLONG ? 8 : 4;
    if (left(row) < width)
        return NULL;
    uint64_t size = little_endian(row->at, width);
    row->at += width;
    uint64_t sign = (uint64_t)1 << (8 * width - 1);
    int negative = !column->is_unsigned && (size & sign);
    if (negative)
        size = sign - (size & (sign - 1)); /* of two's complement */
    char text[24], *end = text + sizeof text, *begin = end;
    do {
        *--begin = (char)('0' + size % 10);
        size /= 10;
    } while (size);
    if (negative)
        *--begin = '-';
    return PyBytes_FromStringAndSize(begin, end - begin);
}

static PyObject *moment_value(const Column *column, Bytes *row)
{
    if (left(row) < 1)
        return NULL;
    Py_ssize_t size = *row->at++;
    if ((size != 0 && size != 4 && size != 7 && size != 11) || left(row) < size)
        return NULL;
    uint8_t part[11] = {0}; /* the last ones are left out where they are 0 */
    memcpy(part, row->at, (size_t)size);
    row->at += size;
    char text[32];
    int length = snprintf(text, sizeof text, "%04d-%02d-%02d", part[0] | part[1] << 8, part[2], part[3]);
    if (column->type != DATE)
        length += snprintf(text + length, sizeof text - (size_t)length, " %02d:%02d:%02d", part[4], part[5], part[6]);
    return PyBytes_FromStringAndSize(text, length);
}

static PyObject *string_value(Bytes *row)
{
    Bytes value;
    return string(row, &value) ? PyBytes_FromStringAndSize((const char *)value.at, left(&value)) : NULL;
}

static PyObject *binary_value(const Column *column, Bytes *row)
{
    switch (column->type) {
    case TINY: case SHORT: case LONG: case INT24: case LONGLONG:
        return integer_value(column, row);
    case TIMESTAMP: case DATE: case DATETIME:
        return moment_value(column, row);
    }
    return string_value(row);
}

/* A row as a tuple of bytes, and None for NULL. */
static PyObject *row_of(Bytes row, const Column *columns, Py_ssize_t count, int prepared)
{
    const uint8_t *nulls = row.at + 1;
    if (prepared) {
        Py_ssize_t before = 1 + (count + 9) / 8; /* a zero, and a bitmap whose first two bits are reserved */
        if (left(&row) < before || *row.at != 0)
            return NULL;
        row.at += before;
    }
    PyObject *values = PyTuple_New(count);
    for (Py_ssize_t i = 0; values && i < count; i++) {
        PyObject *value;
        if (prepared ? nulls[(i + 2) / 8] >> (i + 2) % 8 & 1 : left(&row) && *row.at == NULL_VALUE) {
            row.at += !prepared;
            value = Py_NewRef(Py_None);
        } else
            value = prepared ? binary_value(&columns[i], &row) : string_value(&row);
        if (value)
            PyTuple_SET_ITEM(values, i, value);
        else
            Py_CLEAR(values);
    }
    if (values && left(&row))
        Py_CLEAR(values);
    return values;
}

/* The rows of the result whose first packet is `first`: added to `count`, and to the list `rows` if there is one. */
static Outcome result(Bytes *data, Bytes first, const Question *asked, uint8_t *due, uint64_t *count, PyObject *rows,
                      Bytes *status)
{
    Column columns[MOST_COLUMNS];
    uint64_t width, ignored;
    Bytes body;
    Outcome taken;
    if (!number(&first, &width) || left(&first) || width == 0 || width > MOST_COLUMNS)
        return UNUSUAL;
    for (uint64_t i = 0; i < width; i++) {
        if ((taken = packet(data, due, &body)) != WHOLE)
            return taken;
        if (*body.at == ERROR || (rows && asked->prepared && !column_of(body, &columns[i])))
            return UNUSUAL;
    }
    if (!asked->deprecate_eof) {
        if ((taken = packet(data, due, &body)) != WHOLE)
            return taken;
        if (*body.at != END || left(&body) >= SHORT_END)
            return UNUSUAL;
    }
    for (;; ++*count) {
        if ((taken = packet(data, due, &body)) != WHOLE)
            return taken;
        if (*body.at == ERROR)
            return UNUSUAL;
        if (*body.at == END && (asked->deprecate_eof || left(&body) < SHORT_END))
            break;
        if (!rows)
            continue;
        PyObject *row = row_of(body, columns, (Py_ssize_t)width, asked->prepared);
        if (!row)
            return PyErr_Occurred() ? FAILED : UNUSUAL;
        int failed = PyList_Append(rows, row);
        Py_DECREF(row);
        if (failed)
            return FAILED;
    }
    body.at++;
    if (asked->deprecate_eof) {
        if (!number(&body, &ignored) || !number(&body, &ignored))
            return UNUSUAL;
    } else if (left(&body) < 2) /* the number of warnings */
        return UNUSUAL;
    else
        body.at += 2;
    *status = body;
    return WHOLE;
}

/* A whole answer: what is added to `count` is changed and returned rows, to the list `rows` the rows themselves. */
static Outcome answer(Bytes data, const Question *asked, uint64_t *count, PyObject *rows)
{
    uint8_t due = asked->due;
    for (;;) {
        Bytes body, status;
        uint64_t changed, ignored;
        Outcome taken = packet(&data, &due, &body);
        if (taken != WHOLE)
            return taken;
        if (*body.at == OK) {
            body.at++;
            if (!number(&body, &changed) || !number(&body, &ignored)) /* the second is an id */
                return UNUSUAL;
            *count += changed;
            status = body;
        } else if (*body.at == NULL_VALUE || *body.at >= END)
            return UNUSUAL;
        else if ((taken = result(&data, body, asked, &due, count, rows, &status)) != WHOLE)
            return taken;
        if (left(&status) < 2)
            return UNUSUAL;
        if (!(*status.at & MORE_RESULTS))
            return left(&data) ? UNUSUAL : WHOLE;
        if (!asked->several)
            return UNUSUAL;
    }
}

/* Rows or their number for an answer that is WHOLE, the bytes themselves where Python goes on, NULL if FAILED. Where it
   is INCOMPLETE and `*incomplete` is set, that is NULL without an exception. */
static PyObject *read_answer(const uint8_t *data, Py_ssize_t size, const Question *asked, int *incomplete)
{
    uint64_t count = 0;
    PyObject *rows = asked->fetch ? PyList_New(0) : NULL;
    if (asked->fetch && !rows)
        return *incomplete = 0, NULL;
    Outcome found = answer((Bytes){data, data + size}, asked, &count, rows);
    if (found == WHOLE && rows)
        return *incomplete = 0, rows;
    Py_XDECREF(rows);
    if (found == INCOMPLETE && *incomplete)
        return NULL;
    *incomplete = 0;
    if (found == FAILED)
        return NULL;
    if (found == WHOLE)
        return PyLong_FromUnsignedLongLong(count);
    return PyBytes_FromStringAndSize((const char *)data, size);
}

/* Send one packet on a socket that blocks. 0 with an exception. */
static int send_packet(int descriptor, const uint8_t *packet, size_t size)
{
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT; /* nearly all fit into the socket's buffer: others need not run meanwhile */
    while (size) {
        ssize_t sent;
        if (flags & MSG_DONTWAIT)
            sent = send(descriptor, packet, size, flags);
        else {
            Py_BEGIN_ALLOW_THREADS
            sent = send(descriptor, packet, size, flags);
            Py_END_ALLOW_THREADS
        }
        if (sent >= 0) {
            packet += sent;
            size -= (size_t)sent;
        } else if (errno == EINTR) {
            if (PyErr_CheckSignals())
                return 0;
        } else if ((errno == EAGAIN || errno == EWOULDBLOCK) && flags & MSG_DONTWAIT)
            flags = MSG_NOSIGNAL;
        else
            return PyErr_SetFromErrno(PyExc_OSError), 0;
    }
    return 1;
}

/* Send a command of one packet. 0 with an exception. */
static int send_command(int descriptor, PyObject *command)
{
    uint8_t on_stack[HEADER + SMALL], *made = on_stack;
    size_t size = (size_t)PyBytes_GET_SIZE(command);
    if (size > SMALL && !(made = PyMem_Malloc(HEADER + size)))
        return PyErr_NoMemory(), 0;
    made[0] = (uint8_t)size, made[1] = (uint8_t)(size >> 8), made[2] = (uint8_t)(size >> 16);
    made[3] = 0; /* the number of the packet */
    memcpy(made + HEADER, PyBytes_AS_STRING(command), size);
    int done = send_packet(descriptor, made, HEADER + size);
    if (made != on_stack)
        PyMem_Free(made);
    return done;
}

/* Bytes that have arrived, 0 at the end of the connection, -1 with an exception, -2 where nothing has and is not waited
   for. */
static Py_ssize_t receive(int descriptor, uint8_t *into, size_t room, int wait)
{
    for (;;) {
        ssize_t got;
        if (wait) {
            Py_BEGIN_ALLOW_THREADS
            got = recv(descriptor, into, room, 0);
            Py_END_ALLOW_THREADS
        } else
            got = recv(descriptor, into, room, MSG_DONTWAIT);
        if (got >= 0)
            return got;
        if (errno == EINTR) {
            if (PyErr_CheckSignals())
                return -1;
        } else if (!wait && (errno == EAGAIN || errno == EWOULDBLOCK))
            return -2;
        else
            return PyErr_SetFromErrno(PyExc_OSError), -1;
    }
}

/* 0 with an exception where an argument is not what it should be, or there are not `wanted` of them. */
static int arguments(PyObject *const *given, Py_ssize_t count, Py_ssize_t wanted, int *numbers)
{
    if (count != wanted)
        return PyErr_Format(PyExc_TypeError, "%zd arguments instead of %zd", count, wanted), 0;
    for (Py_ssize_t i = 0; i < wanted; i++) {
        long value = PyLong_AsLong(given[i]);
        if (value == -1 && PyErr_Occurred())
            return 0;
        if (value < 0 || value > INT32_MAX)
            return PyErr_SetString(PyExc_ValueError, "a number is out of range"), 0;
        numbers[i] = (int)value;
    }
    return 1;
}

/* 1 for a command of one packet, 0 for one that is Python's, -1 with an exception. */
static int is_usual(PyObject *command)
{
    if (!PyBytes_Check(command))
        return PyErr_Format(PyExc_TypeError, "a command is bytes, not %s", Py_TYPE(command)->tp_name), -1;
    return PyBytes_GET_SIZE(command) > 0 && PyBytes_GET_SIZE(command) < LARGEST_PACKET;
}

PyDoc_STRVAR(ask_text, "ask(command, descriptor, fetch, several, deprecate_eof, /)\n--\n\n"
                       "Send a command and wait for its answer: rows changed or returned, with `fetch` the rows.\n\n"
                       "None if the command has not been sent, because it needs several packets. Bytes are what has\n"
                       "arrived of an answer that Python has to read. Raises OSError.");

static PyObject *ask(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    int numbers[4], usual;
    if (count < 1 || !arguments(given + 1, count - 1, 4, numbers) || (usual = is_usual(given[0])) < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "no command");
    if (!usual)
        Py_RETURN_NONE;
    int prepared = (uint8_t)PyBytes_AS_STRING(given[0])[0] == STATEMENT_EXECUTE;
    Question asked = {numbers[1], numbers[2], prepared, numbers[3], 1};
    if (!send_command(numbers[0], given[0]))
        return NULL;
    uint8_t data[ROOM];
    Py_ssize_t there = 0;
    for (int receives = 1;; receives++) {
        Py_ssize_t got = receive(numbers[0], data + there, (size_t)(ROOM - there), 1);
        if (got < 0)
            return NULL;
        there += got;
        int incomplete = got > 0 && receives < MOST_RECEIVES && there < ROOM;
        PyObject *found = read_answer(data, there, &asked, &incomplete);
        if (!incomplete)
            return found;
    }
}

PyDoc_STRVAR(begin_text, "begin(command, descriptor, /)\n--\n\n"
                         "Send a command. False if it has not been sent, because it needs several packets.\n\n"
                         "Raises OSError.");

static PyObject *begin(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    int descriptor, usual;
    if (count < 1 || !arguments(given + 1, count - 1, 1, &descriptor) || (usual = is_usual(given[0])) < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "no command");
    if (!usual)
        Py_RETURN_FALSE;
    if (!send_command(descriptor, given[0]))
        return NULL;
    Py_RETURN_TRUE;
}

PyDoc_STRVAR(take_text, "take(descriptor, fetch, several, prepared, deprecate_eof, due, /)\n--\n\n"
                        "Take in what has arrived of an answer whose first packet has the number `due`.\n\n"
                        "None if nothing has arrived; else as `ask`. Raises OSError.");

static PyObject *take(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    int numbers[6];
    if (!arguments(given, count, 6, numbers))
        return NULL;
    Question asked = {numbers[1], numbers[2], numbers[3], numbers[4], (uint8_t)numbers[5]};
    uint8_t data[ROOM];
    Py_ssize_t got = receive(numbers[0], data, ROOM, 0);
    if (got == -2)
        Py_RETURN_NONE;
    if (got < 0)
        return NULL;
    int incomplete = 0;
    return read_answer(data, got, &asked, &incomplete);
}

static PyMethodDef methods[] = {
    {"ask", (PyCFunction)(void (*)(void))ask, METH_FASTCALL, ask_text},
    {"begin", (PyCFunction)(void (*)(void))begin, METH_FASTCALL, begin_text},
    {"take", (PyCFunction)(void (*)(void))take, METH_FASTCALL, take_text},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "The usual exchange of the MySQL protocol, compiled from core.c.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);
#ifndef SOURCE
#define SOURCE ""
#endif
    if (module && PyModule_AddStringConstant(module, "SOURCE", SOURCE))
        Py_CLEAR(module);
    return module;
}
