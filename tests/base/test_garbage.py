"""What is imported is not looked through for garbage; what is made later is."""

import gc
import weakref

import pytest

from ibench_lib.base.garbage import no_garbage


class Node:
    me: "Node"


def circle() -> weakref.ref[Node]:
    node = Node()
    node.me = node
    return weakref.ref(node)


def test_python_looks_for_garbage_only_in_what_is_made_later() -> None:
    try:
        with no_garbage():
            assert not gc.isenabled()
            before = circle()
        after = circle()
        assert gc.isenabled() and gc.get_freeze_count() > 0
        gc.collect()
        assert before() is not None and after() is None
    finally:
        gc.unfreeze()


def test_it_looks_again_after_an_error() -> None:
    with pytest.raises(ImportError), no_garbage():
        import ibench_lib.nothing_of_that_name  # type: ignore[import-not-found]  # noqa: F401
    gc.unfreeze()
    assert gc.isenabled()
