-- UPDATE one column without an index in many rows, by a list of their ids. Values may occur more than once.

local statements = require("statements")

sysbench.cmdline.options.random_points = { "Number of values in the list", 10 }

-- As long as those that sysbench prepares: ten groups of eleven digits.
local C = string.rep("###########", 10, "-")

function prepare_statements()
   local marks, kinds = statements.list(sysbench.opt.random_points, { { sysbench.sql.type.CHAR, 120 } })
   statements.prepare("in_list", "UPDATE sbtest%d SET c = ? WHERE id IN (" .. marks .. ")", kinds)
end

function event()
   local statement, values = statements.any_table("in_list")
   values[1]:set_rand_str(C)
   for place = 1, sysbench.opt.random_points do
      values[place + 1]:set(sysbench.rand.default(1, sysbench.opt.table_size))
   end
   statement:execute()
end
