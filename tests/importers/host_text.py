"""What iostat, vmstat, mpstat and dstat print, of several versions, with figures that can be added up in the head."""

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


_MPSTAT = "%usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle"


def clock(second: int, half: bool) -> str:
    """The time of a second after 23:59:58, so that a few of them pass midnight."""
    hour, rest = divmod((86_398 + second) % 86_400, 3600)
    minutes = f"{rest // 60:02d}:{rest % 60:02d}"
    return f"{hour % 12 or 12:02d}:{minutes} {'PM' if hour >= 12 else 'AM'}" if half else f"{hour:02d}:{minutes}"


def mpstat(users: Sequence[int], *, cpus: int = 2, half: bool = True, each: bool = True, every: int = 1) -> str:
    """A sample for each share of time in user mode, of which a tenth is of guests; 10 % in the kernel, 4 % of I/O.

    `each`: with the lines of each CPU, as with `-P ALL`, so that each sample has a header.
    """
    text = f"Linux 6.8.0 (db7.example.com) \t11/21/26 \t_x86_64_\t({cpus} CPU)\n"
    for number, user in enumerate(users):
        figures = [0.9 * user, 0, 7, 4, 1, 2, 0, 0.1 * user, 0, 86 - user]
        line = "  ".join(f"{figure:5.2f}" for figure in figures)
        if each or number == 0:
            text += f"\n{clock(number * every, half)}  CPU  {'  '.join(_MPSTAT.split())}\n"
        text += f"{clock((number + 1) * every, half)}  all  {line}\n"
        text += "".join(f"{clock((number + 1) * every, half)}    {cpu}  {line}\n" for cpu in range(cpus * each))
    return text + f"\nAverage:     all  {line}\n"


def dstat(users: Sequence[int], *, old: bool = False) -> str:
    """A blank row, and one for each share of time in user mode; 10 % in the kernel. Its shares are rounded down."""
    cpu = "----total-cpu-usage----" if old else "----total-usage----"
    text = "You did not select any stats, using -cdngy by default.\n"
    text += f"----system---- {cpu} -dsk/total- -net/total- ---paging-- ---system--\n"
    names = "usr sys idl wai hiq siq" if old else "usr sys idl wai stl"
    text += f"     time     |{names}| read  writ| recv  send|  in   out | int   csw \n"
    text += f"21-11 {clock(0, False)}|                   |           |           |           |           \n"
    for number, user in enumerate(users, start=1):
        kernel = "  7 {idle}   4   1   2" if old else " 10 {idle}   2   0"
        shares = f"{user:3d} {kernel.format(idle=86 - user)}"
        text += f"21-11 {clock(number, False)}|{shares}|1024k   78M| 577B   14k|   0     0 |  91k 2000 \n"
    return text


def dstat_csv(users: Sequence[int], *, epoch: bool = True) -> str:
    """What dstat writes to a file: a row since boot, and one for each share of time in user mode."""
    named = '"epoch",' if epoch else ""
    lines = [
        '"pcp-dstat 6.2.0 CSV output"',
        '"Author:","PCP team <pcp@groups.io> and Dag Wieers",,,,"URL:","https://pcp.io/"',
        '"Host:","db7.example.com",,,,"User:","alice"',
        '"Cmdline:","dstat -T --output /home/alice/x",,,,"Date:","21 Nov 2026 09:00:00 UTC"',
        f'{named}"total cpu usage",,,,,"dsk/sda",,"system",',
        f'{named}"usr","sys","idl","wai","stl","read","writ","int","csw"',
    ]
    for number, user in enumerate([7, *users]):
        time = f"{1795219200 + 2 * number}.{number:03d}," if epoch else ""
        lines.append(f"{time}{user},10,{86 - user},4,0,1024.5,2048,5000.25,2000.5")
    return "\n".join(lines) + "\n"
