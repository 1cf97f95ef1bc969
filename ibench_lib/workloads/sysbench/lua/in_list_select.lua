-- SELECT columns of many rows by a list of values of one column. Values may occur more than once.

local statements = require("statements")

local options = sysbench.cmdline.options
options.random_points = { "Number of values in the list", 10 }
options.hot_points = { "Take the same adjacent values each time, from the middle of the table", false }
options.key = { "Column that the values are of: id has the primary key, k the secondary index", "id" }
options.columns = { "Columns to read, with commas between them", "c" }

function prepare_statements()
   local marks, kinds = statements.list(sysbench.opt.random_points, {})
   local text = "SELECT %s FROM sbtest%%d WHERE %s IN (%s)"
   statements.prepare("in_list", text:format(sysbench.opt.columns, sysbench.opt.key, marks), kinds)
end

function event()
   local statement, values = statements.any_table("in_list")
   local rows, middle = sysbench.opt.table_size, math.floor(sysbench.opt.table_size / 2)
   for place = 1, sysbench.opt.random_points do
      values[place]:set(sysbench.opt.hot_points and middle + place or sysbench.rand.default(1, rows))
   end
   statement:execute()
end
