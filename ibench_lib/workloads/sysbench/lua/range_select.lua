-- SELECT columns, or count one, of the rows in a range of values of one column.

local statements = require("statements")

local options = sysbench.cmdline.options
options.key = { "Column that the range is of: id has the primary key, k the secondary index", "id" }
options.columns = { "Columns to read, with commas between them", "c" }
options.count = { "Count the values of the column, and read none", false }

function prepare_statements()
   local read = sysbench.opt.count and "COUNT(" .. sysbench.opt.columns .. ")" or sysbench.opt.columns
   local text = "SELECT %s FROM sbtest%%d WHERE %s BETWEEN ? AND ?"
   local _, kinds = statements.list(2, {})
   statements.prepare("range", text:format(read, sysbench.opt.key), kinds)
end

function event()
   local statement, values = statements.any_table("range")
   local first = sysbench.rand.default(1, sysbench.opt.table_size)
   values[1]:set(first)
   values[2]:set(first + sysbench.opt.range_size - 1)
   statement:execute()
end
