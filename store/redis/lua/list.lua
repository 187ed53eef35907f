-- Reads up to ARGV[3] texts of a list, the last first, from ARGV[1] on and below
-- ARGV[2].
local low, high, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local last, first = leaf(low), leaf(high)
local found = {}
while true do
	for _, text in ipairs(call('ZREVRANGEBYLEX', P .. 'x' .. first, '(' .. high, '[' .. low, 'LIMIT', 0, limit - #found)) do
		found[#found + 1] = sub(text, -16)
	end
	if #found >= limit or first == last then
		return found
	end
	first = call('ZREVRANGEBYLEX', P .. 'x', '(' .. first, '-', 'LIMIT', 0, 1)[1]
end
