-- Deletes ended tasks. ARGV: for each task its id, version, key, alias, merchant and order number as it was added.
local n = 0
for i = 1, #ARGV, 6 do
	local id, version, key, alias, merchant, order = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
	local h = call('GETRANGE', P .. 't' .. id, 0, 127)
	if h ~= '' and sub(h, 5, 8) == version then
		count(byte(h, 2), queue(id, h), -1)
		put_away(id, h)
		call('DEL', P .. 't' .. id, P .. 'l' .. id)
		if key ~= '' and call('HGET', P .. 'k', key) == id then
			call('HDEL', P .. 'k', key)
		end
		if alias ~= '' and call('HGET', P .. 'k', alias) == id then
			call('HDEL', P .. 'k', alias)
		end
		unlist('a' .. id)
		if merchant ~= '' then
			unlist('m' .. merchant .. id)
		end
		if order ~= '' then
			unlist('o' .. order .. id)
		end
		n = n + 1
	end
end
put_counts()
return n
