-- Reads the due entries of shards, ordered by (VisibleAt, id). ARGV: the most entries of a shard, to, and for each
-- shard its two bytes, the VisibleAt to begin at, and the id to begin after (empty: none).

-- behind compares two ids as bytes, because a comparison of strings depends on the server's locale.
local function behind(a, b)
	local a1, a2, a3, a4 = struct.unpack('>I4I4I4I4', a)
	local b1, b2, b3, b4 = struct.unpack('>I4I4I4I4', b)
	if a1 ~= b1 then return a1 > b1 end
	if a2 ~= b2 then return a2 > b2 end
	if a3 ~= b3 then return a3 > b3 end
	return a4 > b4
end

local limit, to = ARGV[1], '(' .. ARGV[2]
local found = {}
for i = 3, #ARGV, 3 do
	local key, from, id = P .. 'd' .. ARGV[i], ARGV[i + 1], ARGV[i + 2]
	local skip = 0
	if id ~= '' then
		-- The first entry with this VisibleAt after the id.
		local low = call('ZCOUNT', key, '-inf', '(' .. from)
		local first, high = low, call('ZCOUNT', key, '-inf', from)
		while low < high do
			local middle = math.floor((low + high) / 2)
			if behind(sub(call('ZRANGE', key, middle, middle)[1], 1, 16), id) then
				high = middle
			else
				low = middle + 1
			end
		end
		skip = low - first
	end
	found[#found + 1] = call('ZRANGEBYSCORE', key, from, to, 'WITHSCORES', 'LIMIT', skip, limit)
end
return found
