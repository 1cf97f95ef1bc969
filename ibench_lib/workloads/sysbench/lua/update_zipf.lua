-- oltp_update_non_index with rows by Zipf's law: id 1 is the most frequent, then id 2. sysbench 1.0 has no such rand-type.

local zipf = require("zipf")
require("oltp_update_non_index")

sysbench.cmdline.options.zipf_exponent = { "Exponent of Zipf's law; sysbench 1.1 has 0.8", 0.8 }

local begin = thread_init

function thread_init()
   -- Its own script draws ids by this function, and nothing else.
   local draw = zipf(sysbench.opt.table_size, sysbench.opt.zipf_exponent, sysbench.rand.uniform_double)
   sysbench.rand.default = function()
      return draw()
   end
   begin()
end
