-- Whole numbers from 1 to n by Zipf's law: the chance of k is in proportion to 1 / k^s.
--
-- Rejection-inversion after W. Hoermann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
-- distributions" (1996). The density 1 / x^s has the integral H; a number between H(1.5) - 1 and H(n + 0.5) is drawn evenly,
-- and the whole number nearest to its inverse is kept if it lies under the bar of that number.

-- A function without arguments that draws a number. `uniform` gives numbers from 0 to less than 1.
return function(n, s, uniform)
   assert(n >= 1 and s > 0, "zipf: n has to be at least 1, and the exponent above 0")
   local is_log = math.abs(s - 1) < 1e-9

   local function integral(x)
      return is_log and math.log(x) or (x ^ (1 - s) - 1) / (1 - s)
   end

   local function inverse(y)
      return is_log and math.exp(y) or (1 + y * (1 - s)) ^ (1 / (1 - s))
   end

   local from, to = integral(1.5) - 1, integral(n + 0.5)
   local surely = 2 - inverse(integral(2.5) - 2 ^ -s)  -- so near to its number, any place is under the bar

   return function()
      while true do
         local y = to + uniform() * (from - to)
         local x = inverse(y)
         local k = math.min(math.max(math.floor(x + 0.5), 1), n)
         if k - x <= surely or y >= integral(k + 0.5) - k ^ -s then
            return k
         end
      end
   end
end
