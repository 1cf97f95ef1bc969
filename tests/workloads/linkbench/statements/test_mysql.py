"""The SQL of MySQL that LinkBench's clients send."""

from ibench_lib.workloads.linkbench.statements import mysql


def test_a_link_that_is_there_is_shown_again_and_its_count_goes_up_by_one_and_down_to_zero() -> None:
    link = mysql.UPSERT.encode() % (1, 2, 3, b"6162", 5)
    assert link.endswith(b"VALUES (1,2,3,1,x'6162',5,0) ON DUPLICATE KEY UPDATE visibility=1")
    up, down = (text.encode() % (1, 3, 5, 5) for text in (mysql.COUNT_UP, mysql.COUNT_DOWN))
    assert up.endswith(b"VALUES (1,3,1,5,0) ON DUPLICATE KEY UPDATE count=count+1,version=version+1,time=5")
    assert b"UPDATE count=IF(count=0,0,count-1)," in down


def test_a_list_is_read_by_its_index_the_latest_first() -> None:
    text = (mysql.LIST.encode() % (7, 3, 500, 1)).decode()
    assert "FORCE INDEX(id1_type) WHERE id1=7 AND link_type=3 AND time>=0 AND time<=500" in text
    assert text.endswith("ORDER BY time DESC LIMIT 1,10000")
