/* The usual exchange of a protocol in C: one command is sent, and an answer that is whole and good is counted or read; for
   one connection, or for several that are waited for together. A driver's `core.c` includes this file after it has
   defined CORE, the name of its module; it has the protocol (declared below) and makes the module (`core_module`),
   which `compiled_core.py` describes. `compiled.py` uses it, and `exchange.py` has the same in Python.

   No bytes are kept between calls. Whatever is not usual is handed to the driver's wire in Python with all bytes that
   have arrived, and that finds out what it is: an error, an answer in many pieces or of more than 64 KiB, a command that
   is not sent here, and all that is malformed. So each error has one source, and whatever C takes for an answer, Python
   takes for the same answer. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    ROOM = 1 << 16,        /* for an answer */
    COARSE_NS = 20000000,  /* a wait of less is not left to epoll_wait */
    LONGEST_NS = 1000000000,
    MOST_EVENTS = 64,
    MOST_RECEIVES = 4,     /* of one answer; whoever drips is Python's, which has a deadline */
    SMALL = 1 << 12,       /* a command that is copied on the stack */
    ROWS = 1, SEVERAL = 2  /* marks of a command, as driver.py has them */
};

/* With an exception; whole and good; good so far; Python finds out. */
typedef enum { FAILED, WHOLE, INCOMPLETE, UNUSUAL } Outcome;

/* Bytes that have not been read yet: no pointer goes beyond `end`. */
typedef struct { const uint8_t *at, *end; } Bytes;

/* What is asked of an answer. `first` is the first byte of the command, `mode` what the driver says of the connection. */
typedef struct { int fetch, several, mode; uint8_t first; } Question;

/* What a command is on the wire: some bytes `before` it, itself without the `skipped` ones, and zeros `after` it. */
typedef struct { uint8_t before[8]; size_t size, skipped, after; } Frame;

/* The protocol, in core.c: whether a command is one that C sends, and how. */
static int is_usual_command(const uint8_t *command, size_t size);
static Frame frame_of(const uint8_t *command, size_t size);

/* A whole answer: what is added to `count` is changed and returned rows, to the list `rows`, if there is one, the rows. */
static Outcome answer(Bytes data, const Question *asked, uint64_t *count, PyObject *rows);

/* The bytes of one value of a prepared statement, as far as they fit: how many they are, -1 for what is left to Python. */
static Py_ssize_t parameter(char code, PyObject *value, uint8_t *into, Py_ssize_t room);

/* Put in what is known once all values of a prepared statement are there. */
static void completed(uint8_t *command, Py_ssize_t size);

static inline Py_ssize_t left(const Bytes *bytes) { return bytes->end - bytes->at; }

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

/* Let other threads run, if there are any, until `resume_python`. */
static inline PyThreadState *pause_python(void)
{
    return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) ? PyEval_SaveThread() : NULL;
}

static inline void resume_python(PyThreadState *paused)
{
    if (paused)
        PyEval_RestoreThread(paused);
}

/* Send a command on a socket that blocks. 0 with an exception. */
static int send_command(int descriptor, PyObject *command)
{
    const uint8_t *text = (const uint8_t *)PyBytes_AS_STRING(command);
    size_t size = (size_t)PyBytes_GET_SIZE(command), there = 0;
    Frame frame = frame_of(text, size);
    size_t all = frame.size + size - frame.skipped + frame.after;
    uint8_t on_stack[SMALL], *made = on_stack;
    if (all > SMALL && !(made = PyMem_Malloc(all)))
        return PyErr_NoMemory(), 0;
    memcpy(made, frame.before, frame.size);
    memcpy(made + frame.size, text + frame.skipped, size - frame.skipped);
    memset(made + all - frame.after, 0, frame.after);
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT; /* nearly all fit into the socket's buffer: others need not run meanwhile */
    while (there < all && !PyErr_Occurred()) {
        PyThreadState *paused = flags & MSG_DONTWAIT ? NULL : pause_python();
        ssize_t sent = send(descriptor, made + there, all - there, flags);
        resume_python(paused);
        if (sent >= 0)
            there += (size_t)sent;
        else if (errno == EINTR)
            PyErr_CheckSignals();
        else if ((errno == EAGAIN || errno == EWOULDBLOCK) && flags & MSG_DONTWAIT)
            flags = MSG_NOSIGNAL;
        else
            PyErr_SetFromErrno(PyExc_OSError);
    }
    if (made != on_stack)
        PyMem_Free(made);
    return !PyErr_Occurred();
}

/* Bytes that have arrived, 0 at the end of the connection, -1 with an exception, -2 where nothing has and is not waited
   for. */
static Py_ssize_t receive(int descriptor, uint8_t *into, size_t room, int wait)
{
    for (;;) {
        PyThreadState *paused = wait ? pause_python() : NULL;
        ssize_t got = recv(descriptor, into, room, wait ? 0 : MSG_DONTWAIT);
        resume_python(paused);
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

/* The two numbers after `before` other arguments. 0 with an exception where they are none, or not the last ones. */
static int arguments(PyObject *const *given, Py_ssize_t count, Py_ssize_t before, int numbers[2])
{
    if (count != before + 2)
        return PyErr_Format(PyExc_TypeError, "%zd arguments instead of %zd", count, before + 2), 0;
    for (Py_ssize_t i = 0; i < 2; i++) {
        long value = PyLong_AsLong(given[before + i]);
        if (value == -1 && PyErr_Occurred())
            return 0;
        if (value < 0 || value > INT32_MAX)
            return PyErr_SetString(PyExc_ValueError, "a number is out of range"), 0;
        numbers[i] = (int)value;
    }
    return 1;
}

/* The command in what an operation has yielded, bytes or a pair of these and marks, and what is asked. NULL with an
   exception. */
static PyObject *command_of(PyObject *yielded, int mode, Question *asked, int *is_usual)
{
    int is_pair = PyTuple_CheckExact(yielded) && PyTuple_GET_SIZE(yielded) == 2;
    PyObject *command = is_pair ? PyTuple_GET_ITEM(yielded, 0) : yielded;
    if (!PyBytes_Check(command))
        return PyErr_Format(PyExc_TypeError, "a command is bytes, not %s", Py_TYPE(command)->tp_name);
    long marks = is_pair ? PyLong_AsLong(PyTuple_GET_ITEM(yielded, 1)) : 0;
    const uint8_t *text = (const uint8_t *)PyBytes_AS_STRING(command); /* with a zero behind it */
    *asked = (Question){marks & ROWS, marks & SEVERAL, mode, *text};
    *is_usual = is_usual_command(text, (size_t)PyBytes_GET_SIZE(command));
    return marks == -1 && PyErr_Occurred() ? NULL : command;
}

/* The exception that is set, if it is of a kind; else it stays, and this is NULL. */
static PyObject *raised(PyObject *kind)
{
    PyObject *type, *error, *trace;
    if (!PyErr_ExceptionMatches(kind))
        return NULL;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return error;
}

static inline int is_answer(PyObject *found) { return PyLong_CheckExact(found) || PyList_CheckExact(found); }

static inline int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Send a command and wait for its answer: what `read_answer` gives, or None for a command that is Python's. */
static PyObject *exchange(PyObject *yielded, int descriptor, int mode)
{
    Question asked;
    int is_usual;
    PyObject *command = command_of(yielded, mode, &asked, &is_usual);
    if (command && !is_usual)
        Py_RETURN_NONE;
    if (!command || !send_command(descriptor, command))
        return NULL;
    uint8_t data[ROOM];
    Py_ssize_t there = 0;
    for (int receives = 1;; receives++) {
        Py_ssize_t got = receive(descriptor, data + there, (size_t)(ROOM - there), 1);
        if (got < 0)
            return NULL;
        there += got;
        int incomplete = got > 0 && receives < MOST_RECEIVES && there < ROOM;
        PyObject *found = read_answer(data, there, &asked, &incomplete);
        if (!incomplete)
            return found;
    }
}

static PyObject *ask(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    int numbers[2];
    return arguments(given, count, 1, numbers) ? exchange(given[0], numbers[0], numbers[1]) : NULL;
}

static PyObject *transact(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    int numbers[2];
    if (!arguments(given, count, 2, numbers))
        return NULL;
    PyObject *answer = Py_NewRef(given[1]), *yielded;
    for (;;) {
        PySendResult sent = PyIter_Send(given[0], answer, &yielded);
        Py_DECREF(answer);
        if (sent != PYGEN_NEXT)
            return yielded; /* NULL if it raised */
        if (!(answer = exchange(yielded, numbers[0], numbers[1])))
            answer = raised(PyExc_OSError);
        PyObject *unusual = answer && !is_answer(answer) ? PyTuple_Pack(2, yielded, answer) : NULL;
        Py_DECREF(yielded);
        if (answer && is_answer(answer))
            continue;
        Py_XDECREF(answer);
        return unusual;
    }
}

/* One connection of an exchange. Without an operation, `steps` and `yielded` are NULL. */
typedef struct Line {
    PyObject *steps, *yielded; /* the operation, and its command that is due to be answered */
    int64_t noticed_ns, sent_ns, lag_ns;
    struct Line *next; /* in the queue of those on which something has arrived */
    int descriptor;
    Question asked;
    uint8_t queued, is_python; /* the latter: Python sends or reads */
} Line;

typedef struct {
    PyObject_VAR_HEAD
    PyObject *refused; /* the kind of error that ends an operation, not the exchange */
    int epoll, mode;
    Line *first, *last; /* of the queue: each line is in it once at most */
    Line lines[];
} Exchange;

static PyObject *exchange_new(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *descriptors, *refused;
    int mode;
    if (!PyArg_ParseTuple(given, "O!pO", &PyTuple_Type, &descriptors, &mode, &refused))
        return NULL;
    Exchange *self = (Exchange *)type->tp_alloc(type, PyTuple_GET_SIZE(descriptors));
    if (!self)
        return NULL;
    self->refused = Py_NewRef(refused);
    self->mode = mode;
    if ((self->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        PyErr_SetFromErrno(PyExc_OSError);
    for (Py_ssize_t i = 0; !PyErr_Occurred() && i < Py_SIZE(self); i++) {
        self->lines[i].descriptor = (int)PyLong_AsLong(PyTuple_GET_ITEM(descriptors, i));
        /* Edge-triggered: an answer is noticed once, when it arrives, not again while it waits to be handled. */
        struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = &self->lines[i]};
        if (!PyErr_Occurred() && epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->lines[i].descriptor, &event))
            PyErr_SetFromErrno(PyExc_OSError);
    }
    if (PyErr_Occurred())
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void exchange_dealloc(Exchange *self)
{
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        Py_XDECREF(self->lines[i].steps);
        Py_XDECREF(self->lines[i].yielded);
    }
    Py_DECREF(self->refused);
    if (self->epoll >= 0)
        close(self->epoll);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Queue the lines on which something has arrived. Wait for that up to a moment if none is queued. 0 with an exception. */
static int notice(Exchange *self, int64_t until_ns)
{
    struct epoll_event events[MOST_EVENTS]; /* others are noticed by the next call */
    int64_t left_ns = self->first ? 0 : until_ns - now();
    int wait_ms = left_ns < COARSE_NS ? 0 : left_ns > LONGEST_NS ? LONGEST_NS / 1000000 : (int)(left_ns / 1000000);
    PyThreadState *paused = left_ns > 0 ? pause_python() : NULL;
    if (left_ns > 0 && !wait_ms) { /* epoll_wait knows whole milliseconds only */
        struct pollfd any = {.fd = self->epoll, .events = POLLIN};
        struct timespec wait = {.tv_nsec = (long)left_ns};
        ppoll(&any, 1, &wait, NULL);
    }
    int got = epoll_wait(self->epoll, events, MOST_EVENTS, wait_ms);
    resume_python(paused);
    if (got < 0 && errno != EINTR)
        return PyErr_SetFromErrno(PyExc_OSError), 0;
    if (got <= 0)
        return !PyErr_CheckSignals();
    int64_t noticed_ns = now();
    for (int i = 0; i < got; i++) {
        Line *line = events[i].data.ptr;
        if (line->queued)
            continue;
        line->queued = 1;
        line->noticed_ns = noticed_ns;
        line->next = NULL;
        *(self->first ? &self->last->next : &self->first) = line;
        self->last = line;
    }
    return 1;
}

/* Send what an operation has yielded, a reference that is taken over. None; where it is Python's, as `serve` has it. */
static PyObject *put(Exchange *self, Py_ssize_t number, PyObject *yielded, int64_t now_ns)
{
    Line *line = &self->lines[number];
    int is_usual;
    Py_XSETREF(line->yielded, yielded);
    line->sent_ns = now_ns;
    PyObject *command = command_of(yielded, self->mode, &line->asked, &is_usual), *error = NULL;
    if (!command)
        return NULL;
    line->is_python = !is_usual;
    if (is_usual) {
        if (send_command(line->descriptor, command))
            Py_RETURN_NONE;
        if (!(error = raised(PyExc_OSError)))
            return NULL;
    }
    return Py_BuildValue("nON", number, yielded, error ? error : Py_NewRef(Py_False));
}

/* Give an operation its answer, or end it with an error; the reference is taken over. As `put`, or what has ended. */
static PyObject *go_on(Exchange *self, Py_ssize_t number, PyObject *answer)
{
    Line *line = &self->lines[number];
    int64_t now_ns = now(), since_ns = line->noticed_ns > line->sent_ns ? line->noticed_ns : line->sent_ns;
    line->lag_ns += now_ns - since_ns;
    line->is_python = 0;
    PyObject *yielded = answer;
    if (!PyExceptionInstance_Check(answer)) {
        PySendResult sent = PyIter_Send(line->steps, answer, &yielded);
        Py_DECREF(answer);
        if (sent == PYGEN_NEXT)
            return put(self, number, yielded, now_ns);
        if (sent == PYGEN_ERROR && !(yielded = raised(self->refused)))
            return NULL;
    }
    Py_CLEAR(line->steps);
    Py_CLEAR(line->yielded);
    return Py_BuildValue("nLN", number, (long long)line->lag_ns, yielded);
}

/* Take in what has arrived on a line. None; or as `go_on`. */
static PyObject *take(Exchange *self, Py_ssize_t number)
{
    Line *line = &self->lines[number];
    if (!line->steps || line->is_python)
        return Py_BuildValue("nOO", number, line->yielded ? line->yielded : Py_None, Py_None);
    uint8_t data[ROOM];
    int incomplete = 0;
    Py_ssize_t got = receive(line->descriptor, data, ROOM, 0);
    if (got == -2)
        Py_RETURN_NONE;
    PyObject *answer = got < 0 ? raised(PyExc_OSError) : read_answer(data, got, &line->asked, &incomplete);
    if (!answer)
        return NULL;
    if (is_answer(answer))
        return go_on(self, number, answer);
    line->is_python = 1;
    return Py_BuildValue("nON", number, line->yielded, answer);
}

static PyObject *exchange_serve(Exchange *self, PyObject *given)
{
    long long until_ns;
    Py_ssize_t number;
    PyObject *answer;
    if (!PyArg_ParseTuple(given, "LnO", &until_ns, &number, &answer))
        return NULL;
    if (number >= Py_SIZE(self) || (number >= 0 && !self->lines[number].steps))
        return PyErr_Format(PyExc_ValueError, "no operation on connection %zd", number);
    PyObject *event = number < 0 ? Py_NewRef(Py_None) : go_on(self, number, Py_NewRef(answer));
    while (event == Py_None) {
        Py_DECREF(event);
        if (!notice(self, until_ns))
            return NULL;
        Line *line = self->first;
        if (line) {
            self->first = line->next;
            line->queued = 0;
        }
        event = line ? take(self, line - self->lines) : Py_NewRef(Py_None);
        if (event == Py_None && (line ? line->sent_ns : now()) >= until_ns)
            break;
    }
    return event;
}

static PyObject *exchange_start(Exchange *self, PyObject *given)
{
    Py_ssize_t number;
    PyObject *steps, *yielded;
    if (!PyArg_ParseTuple(given, "nO", &number, &steps))
        return NULL;
    if (number < 0 || number >= Py_SIZE(self))
        return PyErr_Format(PyExc_ValueError, "no connection %zd", number);
    PySendResult sent = PyIter_Send(steps, Py_None, &yielded);
    if (sent == PYGEN_RETURN) {
        Py_DECREF(yielded);
        PyErr_SetString(PyExc_ValueError, "an operation without a command");
    }
    if (sent != PYGEN_NEXT)
        return NULL;
    Py_XSETREF(self->lines[number].steps, Py_NewRef(steps));
    self->lines[number].lag_ns = 0;
    return put(self, number, yielded, now());
}

static PyObject *exchange_oldest_ns(Exchange *self, PyObject *none)
{
    int64_t oldest_ns = INT64_MAX;
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++)
        if (self->lines[i].steps && self->lines[i].sent_ns < oldest_ns)
            oldest_ns = self->lines[i].sent_ns;
    return PyLong_FromLongLong(oldest_ns);
}

static PyMethodDef exchange_methods[] = {
    {"start", (PyCFunction)exchange_start, METH_VARARGS, NULL},
    {"serve", (PyCFunction)exchange_serve, METH_VARARGS, NULL},
    {"oldest_ns", (PyCFunction)exchange_oldest_ns, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject exchange_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = CORE ".Exchange",
    .tp_doc = "Operations of several connections, one of each at most.",
    .tp_basicsize = sizeof(Exchange),
    .tp_itemsize = sizeof(Line),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = exchange_new,
    .tp_dealloc = (destructor)exchange_dealloc,
    .tp_methods = exchange_methods,
};

/* A prepared statement that `%` completes, as `Prepared` of the driver does: `python`, to which odd values go. */
typedef struct {
    PyObject_HEAD
    PyObject *python, *head, *codes, *tail; /* q: integer of 8 bytes, i: of 4, s: bytes after their length */
} Prepared;

static PyObject *prepared_new(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *python, *head, *codes, *tail;
    if (!PyArg_ParseTuple(given, "OSSS", &python, &head, &codes, &tail))
        return NULL;
    Prepared *self = (Prepared *)type->tp_alloc(type, 0);
    if (self) {
        self->python = Py_NewRef(python);
        self->head = Py_NewRef(head);
        self->codes = Py_NewRef(codes);
        self->tail = Py_NewRef(tail);
    }
    return (PyObject *)self;
}

static void prepared_dealloc(Prepared *self)
{
    Py_XDECREF(self->python);
    Py_XDECREF(self->head);
    Py_XDECREF(self->codes);
    Py_XDECREF(self->tail);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* A value as an integer of 8 bytes (code q) or 4. 0 for what is left to Python. */
static inline int integer(char code, PyObject *value, int64_t *number)
{
    int overflow;
    if (!PyLong_Check(value))
        return 0;
    *number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && (code == 'q' || *number == (int32_t)*number);
}

static PyTypeObject prepared_type;

static PyObject *prepared_with(PyObject *left_side, PyObject *values)
{
    if (!Py_IS_TYPE(left_side, &prepared_type)) /* it is on the right of the % */
        Py_RETURN_NOTIMPLEMENTED;
    Prepared *self = (Prepared *)left_side;
    uint8_t made[SMALL];
    Py_ssize_t there = PyBytes_GET_SIZE(self->head), behind = PyBytes_GET_SIZE(self->tail);
    Py_ssize_t wanted = PyBytes_GET_SIZE(self->codes);
    int is_tuple = PyTuple_Check(values), usual = there <= SMALL && wanted == (is_tuple ? PyTuple_GET_SIZE(values) : 1);
    if (usual)
        memcpy(made, PyBytes_AS_STRING(self->head), (size_t)there);
    for (Py_ssize_t i = 0; usual && i < wanted; i++) {
        PyObject *value = is_tuple ? PyTuple_GET_ITEM(values, i) : values;
        Py_ssize_t size = parameter(PyBytes_AS_STRING(self->codes)[i], value, made + there, SMALL - there);
        usual = size >= 0;
        there += size;
    }
    if (!usual || behind > SMALL - there)
        return PyNumber_Remainder(self->python, values);
    completed(made, there);
    memcpy(made + there, PyBytes_AS_STRING(self->tail), (size_t)behind);
    return PyBytes_FromStringAndSize((char *)made, there + behind);
}

static PyObject *prepared_each(PyObject *self, void *unused)
{
    return PyObject_GetAttrString(((Prepared *)self)->python, "each");
}

static PyGetSetDef prepared_attributes[] = {{"each", prepared_each, NULL, NULL, NULL}, {NULL}};

static PyNumberMethods prepared_number = {.nb_remainder = prepared_with};

static PyTypeObject prepared_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = CORE ".Prepared",
    .tp_doc = "A prepared statement that % completes.",
    .tp_basicsize = sizeof(Prepared),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = prepared_new,
    .tp_dealloc = (destructor)prepared_dealloc,
    .tp_as_number = &prepared_number,
    .tp_getset = prepared_attributes,
};

static PyMethodDef methods[] = {
    {"ask", (PyCFunction)(void (*)(void))ask, METH_FASTCALL, NULL},
    {"transact", (PyCFunction)(void (*)(void))transact, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "The usual exchange of a protocol, compiled from core.c and exchange.h.",
    .m_methods = methods,
};

static PyObject *core_module(void)
{
    PyObject *module = PyModule_Create(&definition);
    /* SOURCE is the SHA-256 of both files, from the command that compiles them (hatch_build.py). */
    if (module && (PyModule_AddStringConstant(module, "SOURCE", SOURCE) || PyModule_AddType(module, &exchange_type) ||
                   PyModule_AddType(module, &prepared_type)))
        Py_CLEAR(module);
    return module;
}
