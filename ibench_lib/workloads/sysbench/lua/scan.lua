-- Read a whole table and return no row. Each thread has a table of its own as long as there are enough of them.

require("oltp_common")

function prepare_statements()
end

function event()
   local number = sysbench.tid % sysbench.opt.tables + 1
   con:query(string.format("SELECT * FROM sbtest%d WHERE LENGTH(c) < 0", number))
end
