-- Prints what a test of sysbench has done in each interval, in exact numbers. ibench drives sysbench by it.
--
-- SYSBENCH_TEST_FILE is the file of the test; SYSBENCH_TEST_FOLDER has the tests that this sysbench has come with. The
-- first thread says "ibench-ready" once it is connected, and waits for a line on standard input: so the test begins with
-- the step. SYSBENCH_TEST_CHAR names the type that strings of prepared statements have in place of CHAR, which sysbench's
-- driver of PostgreSQL takes for "char", a single byte. With SYSBENCH_TEST_CLEANS, a test drops its own tables before it makes
-- them. Then come lines of words:
--
--   ibench-interval END SECONDS EVENTS READS WRITES OTHERS ERRORS RECONNECTS WAITING BINS
--   ibench-done BINS                                                              from each thread, at its end
--   ibench-total END SECONDS EVENTS READS WRITES OTHERS ERRORS RECONNECTS         of the whole run
--
-- WAITING are events that are due and not yet done, if the test has a rate.
-- BINS is bin:count with commas, of sysbench's own histogram of response times: of the interval, or of all up to then.
-- It is "-" where this build of sysbench does not let anyone read it.

local ffi = require("ffi")

local path = assert(os.getenv("SYSBENCH_TEST_FILE"), "SYSBENCH_TEST_FILE is not set")
local bundled = assert(os.getenv("SYSBENCH_TEST_FOLDER"), "SYSBENCH_TEST_FOLDER is not set")
local char = os.getenv("SYSBENCH_TEST_CHAR")
if char then
   sysbench.sql.type.CHAR = sysbench.sql.type[char]
end
package.path = (path:match("^(.*/)") or "./") .. "?.lua;" .. bundled .. "/?.lua;" .. package.path
dofile(path)

ffi.cdef[[
   typedef struct { uint64_t *cumulative; } ibench_histogram;
   extern ibench_histogram sb_latency_histogram;
   double sb_histogram_get_pct_intermediate(ibench_histogram *, double);
]]
local BINS = 1024
local readable, histogram = pcall(function()
   return ffi.C.sb_histogram_get_pct_intermediate and ffi.C.sb_latency_histogram
end)

-- The counts of all bins, less those of `before`, which become those of now.
local function bins(before)
   if not readable then
      return "-"
   end
   ffi.C.sb_histogram_get_pct_intermediate(histogram, 99)  -- adds what the threads have counted since
   local found = {}
   for bin = 0, BINS - 1 do
      local count = tonumber(histogram.cumulative[bin])
      local new = count - (before and before[bin] or 0)
      if new ~= 0 then
         found[#found + 1] = bin .. ":" .. new
      end
      if before then
         before[bin] = count
      end
   end
   return table.concat(found, ",")
end

-- All threads write: a line is one piece, so that no other comes between.
local function write_line(line)
   io.write(line .. "\n")
   io.flush()
end

local function say(word, stat, ...)
   local counts = { stat.events, stat.reads, stat.writes, stat.other, stat.errors, stat.reconnects }
   for place, count in ipairs(counts) do
      counts[place] = string.format("%d", count)
   end
   local times = string.format("%.9f %.9f", stat.time_total, stat.time_interval)
   write_line(table.concat({ word, times, table.concat(counts, " "), ... }, " "))
end

local before = {}
function sysbench.hooks.report_intermediate(stat)
   local waiting = (stat.queue_length or 0) + (stat.concurrency or 0)
   say("ibench-interval", stat, string.format("%d", waiting), bins(before))
end

function sysbench.hooks.report_cumulative(stat)
   say("ibench-total", stat)
end

if create_table then
   -- Tables are prepared again after a test that has changed their rows.
   local create = create_table
   function create_table(drv, connection, number)
      connection:query("DROP TABLE IF EXISTS sbtest" .. number)
      create(drv, connection, number)
   end
end

if os.getenv("SYSBENCH_TEST_CLEANS") then
   local make = prepare
   function prepare()
      cleanup()
      make()
   end
end

if sysbench.cmdline.command == "run" then
   local begin, finish = thread_init, thread_done

   function thread_init(...)
      if begin then
         begin(...)
      end
      if sysbench.tid == 0 then
         write_line("ibench-ready")
         io.read("*l")
      end
   end

   function thread_done(...)
      write_line("ibench-done " .. bins())
      if finish then
         finish(...)
      end
   end
end
