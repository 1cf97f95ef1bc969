import csv
from pathlib import Path

import pytest

from ibench_lib.analysis.symbols import short_name, stack_of, subsystem_of, subsystems

PAIRS = Path(__file__).with_name("symbols.tsv")
"""Functions of MariaDB 10.11.5 as `c++filt` writes them, and what `c++filt --no-params` makes of the mangled name, with
template arguments and clone suffixes cut."""


def test_names_are_those_of_another_demangler_without_arguments() -> None:
    with PAIRS.open(encoding="utf-8", newline="") as file:
        pairs = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(pairs) > 200
    assert [(symbol, short_name(symbol), name) for symbol, name in pairs if short_name(symbol) != name] == []


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("CEscape.constprop.2", "CEscape"),
        ("DeriveKeyMsg.isra.11.constprop.20", "DeriveKeyMsg"),
        ("row_ins_step.cold", "row_ins_step"),
        ("static_function.lto_priv.0", "static_function"),
        ("helper.llvm.1234567890", "helper"),
        ("pthread_mutex_lock@@GLIBC_2.2.5", "pthread_mutex_lock"),
        ("write@GLIBC_2.2.5", "write"),
        ("std::__cxx11::basic_string<char>::append[abi:cxx11](char const*)", "std::__cxx11::basic_string<>::append"),
        ("Item::operator bool() const", "Item::operator bool"),
        ("void foo<(lock_mode)3>(int (*)(char), A<B> const&) const &", "foo<>"),
        ("bool std::operator< <char>(std::string const&, std::string const&)", "std::operator<<>"),
        ("A::f(int) const::{lambda(int, B<2>)#3}::operator()(int, B<2>) const", "A::f::{lambda#3}::operator()"),
        ("non-virtual thunk to ha_innobase::write_row(unsigned char const*)", "ha_innobase::write_row"),
        ("[unknown]", "[unknown]"),
        ("entry_SYSCALL_64_after_hwframe", "entry_SYSCALL_64_after_hwframe"),
        ("broken(unclosed<", "broken"),
        ("__memmove_avx_unaligned_erms", "memmove"),
        ("__memset_evex_unaligned_erms", "memset"),
        ("row_search_for_mysql(unsigned char*, unsigned long)", "row_search_mvcc"),
    ],
)  # fmt: skip
def test_names(symbol: str, name: str) -> None:
    assert short_name(symbol) == name


def test_a_function_that_calls_itself_directly_is_there_once() -> None:
    stack = stack_of("mysqld;main;fib(int);fib(int) [clone .part.1];fib(int);leaf;fib(int)")
    assert (stack.thread, stack.functions, stack.leaf) == ("mysqld", ("main", "fib", "leaf", "fib"), "fib")


@pytest.mark.parametrize(
    ("stack", "subsystem"),
    [
        ("c;row_ins_step(que_thr_t*);btr_cur_optimistic_insert(ulint);rec_copy(x);memcpy", "record layer"),
        ("c;row_ins_step;btr_cur_search_to_nth_level", "B-tree"),
        ("c;row_ins_step;std::vector<int>::push_back(int&&);operator new(unsigned long);malloc", "allocator"),
        ("c;log_write_up_to;os_file_write;pwrite;entry_SYSCALL_64_after_hwframe;do_syscall_64;lock_page", "kernel"),
        ("c;start_thread;row_purge_step;row_purge", "purge"),
        ("c;row_ins_step;[unknown]", "unknown"),
        ("c;row_ins_step;[unknown];memmove", "unknown"),
        ("idle", "unknown"),
        ("c;main;spin", "other"),
        ("connections;PostgresMain;exec_simple_query;ExecModifyTable;heap_insert;XLogInsertRecord", "redo log"),
        ("connections;exec_simple_query;btinsert;_bt_search;ReadBufferExtended;memcpy", "buffer pool"),
        ("autovacuum worker;heap_vacuum_rel;lazy_scan_heap", "purge"),
        ("connections;planner;selfuncs;get_actual_variable_range", "optimizer"),
    ],
)  # fmt: skip
def test_a_stack_belongs_to_its_innermost_function_that_is_known(stack: str, subsystem: str) -> None:
    assert stack_of(stack).subsystem == subsystem
    assert subsystem in subsystems()


def test_a_function_by_itself() -> None:
    assert subsystem_of("mtr_t::commit") == "redo log"
    assert subsystem_of("memcpy") is None
