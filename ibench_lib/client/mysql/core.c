/* The protocol of MySQL for `exchange.h`. `wire.py` has the same in Python, and `compiled.py` puts the two together. A
   column whose values are not written as text here, and a packet of 16 MB, are Python's. */

#define CORE "ibench_lib.client.mysql._core"
#include "../exchange.h"

enum {
    LARGEST_PACKET = 0xFFFFFF,
    HEADER = 4,            /* three bytes of length, one of sequence */
    MOST_COLUMNS = 64,     /* of a result that is read */
    OK = 0x00, NULL_VALUE = 0xFB, LENGTH_OF_2 = 0xFC, LENGTH_OF_3 = 0xFD, LENGTH_OF_8 = 0xFE, END = 0xFE, ERROR = 0xFF,
    SHORT_END = 9,
    MORE_RESULTS = 0x08,
    STATEMENT_EXECUTE = 0x17,
    UNSIGNED = 0x20, ZEROFILL = 0x40
};

enum { TINY = 1, SHORT = 2, LONG = 3, FLOAT = 4, DOUBLE = 5, TIMESTAMP = 7, LONGLONG = 8, INT24 = 9, DATE = 10, TIME = 11,
       DATETIME = 12, YEAR = 13 };

/* The width of an integer, of a date as text; both are 0 for a string. */
typedef struct { uint8_t width, is_unsigned, date; } Column;

/* One packet. */
static int is_usual_command(const uint8_t *command, size_t size) { return size > 0 && size < LARGEST_PACKET; }

static Frame frame_of(const uint8_t *command, size_t size)
{
    /* The last of these is the number of the packet. */
    return (Frame){.before = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16), 0}, .size = HEADER};
}

/* Of a prepared statement, whose rows are binary; and whether CLIENT_DEPRECATE_EOF was negotiated. */
static inline int is_prepared(const Question *asked) { return asked->first == STATEMENT_EXECUTE; }
static inline int deprecates_eof(const Question *asked) { return asked->mode; }

static inline uint64_t little_endian(const uint8_t *at, int width)
{
    uint64_t value = 0;
    memcpy(&value, at, (size_t)width);
    return le64toh(value);
}

/* A length-encoded number. 0 if it is none, or not all there. */
static inline int number(Bytes *from, uint64_t *value)
{
    if (left(from) < 1)
        return 0;
    uint8_t first = *from->at++;
    if (first < NULL_VALUE)
        return *value = first, 1;
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
    uint8_t type = at[7], flags = at[8];
    column->is_unsigned = (flags & UNSIGNED) != 0;
    column->width = type == TINY ? 1 : type == SHORT ? 2 : type == LONG || type == INT24 ? 4 : type == LONGLONG ? 8 : 0;
    if (column->width)
        return !(flags & ZEROFILL);
    column->date = type == DATE ? 10 : type == DATETIME || type == TIMESTAMP ? 19 : 0;
    return type != FLOAT && type != DOUBLE && type != TIME && type != YEAR && (column->date != 19 || at[10] - 1U > 5);
}

/* The values below are new references. They are NULL without an exception for what is left to Python. */

static PyObject *integer_value(const Column *column, Bytes *row)
{
    int width = column->width;
    if (left(row) < width)
        return NULL;
    uint64_t size = little_endian(row->at, width), beyond = UINT64_MAX << (8 * width - 1);
    row->at += width;
    int negative = !column->is_unsigned && (size & beyond);
    if (negative)
        size = -(size | beyond); /* of two's complement */
    char text[24], *end = text + sizeof text, *begin = end;
    do
        *--begin = (char)('0' + size % 10);
    while (size /= 10);
    if (negative)
        *--begin = '-';
    return PyBytes_FromStringAndSize(begin, end - begin);
}

/* A date without fractions of a second. */
static PyObject *date_value(int width, Bytes *row)
{
    int size = left(row) ? *row->at++ : -1, odd = (size != 0 && size != 4 && size != 7) || left(row) < size;
    if (odd)
        return NULL;
    uint8_t parts[7] = {0}; /* a year of two bytes, month, day, hour, minute, second */
    memcpy(parts, row->at, (size_t)size), row->at += size;
    char text[] = "0000-00-00 00:00:00";
    int year = parts[0] | parts[1] << 8, rest = year;
    for (int i = 3; i >= 0; i--, rest /= 10)
        text[i] = (char)('0' + rest % 10);
    for (int i = 2; i < 7; odd |= parts[i++] > 99)
        text[3 * i - 1] = (char)('0' + parts[i] / 10), text[3 * i] = (char)('0' + parts[i] % 10);
    return odd || year > 9999 ? NULL : PyBytes_FromStringAndSize(text, width);
}

static PyObject *string_value(Bytes *row)
{
    Bytes value;
    return string(row, &value) ? PyBytes_FromStringAndSize((const char *)value.at, left(&value)) : NULL;
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
        int is_null = prepared ? nulls[(i + 2) / 8] >> (i + 2) % 8 & 1 : left(&row) && *row.at == NULL_VALUE;
        row.at += is_null && !prepared;
        PyObject *value = is_null                       ? Py_NewRef(Py_None)
                          : prepared && columns[i].width ? integer_value(&columns[i], &row)
                          : prepared && columns[i].date  ? date_value(columns[i].date, &row)
                                                         : string_value(&row);
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
        if (*body.at == ERROR || (rows && is_prepared(asked) && !column_of(body, &columns[i])))
            return UNUSUAL;
    }
    if (!deprecates_eof(asked)) {
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
        if (*body.at == END && (deprecates_eof(asked) || left(&body) < SHORT_END))
            break;
        if (!rows)
            continue;
        PyObject *row = row_of(body, columns, (Py_ssize_t)width, is_prepared(asked));
        if (!row)
            return PyErr_Occurred() ? FAILED : UNUSUAL;
        int failed = PyList_Append(rows, row);
        Py_DECREF(row);
        if (failed)
            return FAILED;
    }
    body.at++;
    if (deprecates_eof(asked)) {
        if (!number(&body, &ignored) || !number(&body, &ignored))
            return UNUSUAL;
    } else if (left(&body) < 2) /* the number of warnings */
        return UNUSUAL;
    else
        body.at += 2;
    *status = body;
    return WHOLE;
}

static Outcome answer(Bytes data, const Question *asked, uint64_t *count, PyObject *rows)
{
    uint8_t due = 1;
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

/* An integer, or a string after its length in one byte; Python knows longer ones. */
static Py_ssize_t parameter(char code, PyObject *value, uint8_t *into, Py_ssize_t room)
{
    int64_t number;
    Py_ssize_t size = code == 'q' ? 8 : 4;
    if (code != 's') {
        if (room < size || !integer(code, value, &number))
            return -1;
        uint64_t bits = htole64((uint64_t)number);
        memcpy(into, &bits, (size_t)size);
        return size;
    }
    if (!PyBytes_CheckExact(value) || (size = PyBytes_GET_SIZE(value)) >= NULL_VALUE || room < 1 + size)
        return -1;
    *into = (uint8_t)size;
    memcpy(into + 1, PyBytes_AS_STRING(value), (size_t)size);
    return 1 + size;
}

static void completed(uint8_t *command, Py_ssize_t size) {}

PyMODINIT_FUNC PyInit__core(void)
{
    return core_module();
}
