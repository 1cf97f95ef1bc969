-- What our tests share: the tables and options of sysbench's own, and statements that are prepared for each table.

require("oltp_common")

local statements = {}

-- Prepare `text`, in which %d is the number of a table. `kinds` are those of its parameters: { type } or { type, length }.
-- The statements are where sysbench's own are, so it closes them, and prepares them again after a lost connection.
function statements.prepare(key, text, kinds)
   for number = 1, sysbench.opt.tables do
      local statement = con:prepare(string.format(text, number))
      local values = {}
      for place, kind in ipairs(kinds) do
         values[place] = statement:bind_create(unpack(kind))
      end
      statement:bind_param(unpack(values))
      stmt[number][key], param[number][key] = statement, values
   end
end

-- A table, drawn evenly: its statement and the parameters of it.
function statements.any_table(key)
   local number = sysbench.rand.uniform(1, sysbench.opt.tables)
   return stmt[number][key], param[number][key]
end

-- "?, ?, ?", and the kinds of so many integers behind those of `kinds`.
function statements.list(count, kinds)
   for _ = 1, count do
      kinds[#kinds + 1] = { sysbench.sql.type.INT }
   end
   return string.rep("?, ", count - 1) .. "?", kinds
end

return statements
