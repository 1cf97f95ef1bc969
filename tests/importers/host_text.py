"""What iostat and vmstat print, of several versions, with figures that can be added up in the head."""

from __future__ import annotations

from collections.abc import Sequence

_CPU = (
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          40.00    0.00   10.00    0.00    0.00   50.00\n"
)
ORDERS = {
    "11": "rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "11 in sectors": "rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "12.0": "r/s w/s rMB/s wMB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util",
    "12.5": "r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s drqm/s %drqm "
    "d_await dareq-sz f/s f_await aqu-sz %util",
}
_UNIT = {"rkB/s": 1024, "wkB/s": 1024, "rMB/s": 1, "wMB/s": 1, "rsec/s": 2048, "wsec/s": 2048}


def iostat(reads: Sequence[int], order: str = "12.5", *, devices: Sequence[str] = ("vda",), cpus: int = 2) -> str:
    """A sample for each number of reads a second; twice as many writes. A request takes 2 ms, and there is 1 MB/s."""
    text = f"Linux 6.1.0 (db7.example.com) \t11/21/26 \t_x86_64_\t({cpus} CPU)\n\n"
    for number in reads:
        known = {"r/s": number, "w/s": 2 * number, "f/s": 3, "r_await": 2, "w_await": 2, "f_await": 1, "%util": 50}
        known |= {**_UNIT, "aqu-sz": 4, "avgqu-sz": 4}
        figures = " ".join(f"{known.get(name, 0):.2f}" for name in ORDERS[order].split())
        text += f"{_CPU}\nDevice{':' if order.startswith('11') else ''} {ORDERS[order]}\n"
        text += "".join(f"{device} {figures}\n" for device in devices) + "\n"
    return text


def vmstat(switches: Sequence[int], *, guests: bool = False, repeat: int = 21) -> str:
    """A line since boot, and one for each number of context switches: 60 % in user mode, 10 % in the kernel."""
    head = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    head += (
        f" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st{' gu' if guests else ''}\n"
    )
    text = ""
    for number, cs in enumerate([7, *switches]):
        text += head if number % repeat == 0 else ""
        cpu = "10 4 86 0 0" if number == 0 else "50 10 25 4 1 10" if guests else "60 10 25 4 1"
        text += f" 3  0      0 21673764   8348 2031572    0    0  1161  2921  461 {cs} {cpu}"
        text += " 0\n" if guests and not number else "\n"
    return text
