-- The layout of rows and lists, and functions for them that several scripts share.
--
-- P is the prefix of all keys. A row is the string P..'t'..ID. Of its head,
-- counted from 1: 2 state, 3 shard (2 bytes), 5 version (4), 9 attempts (4),
-- 13 VisibleAt (8), 21 due (8), 29 line (8), 37 length of the part that is written once (4),
-- 41 length of the status (4), 45 length of the last attempt (4), 49 digest (16),
-- 65 length of the queue's name (2), 67 that name. All numbers are big-endian.
local P = KEYS[1]
local call, sub, byte = redis.call, string.sub, string.byte
local HEAD, LEAF = 64, 64

-- member is the entry in the due index of a task whose row begins with h.
local function member(id, h)
	local m = id .. sub(h, 29, 36) .. sub(h, 5, 12)
	if sub(h, 13, 20) ~= sub(h, 21, 28) then
		m = m .. sub(h, 21, 28)
	end
	return m
end

-- A pending task is in P..'d'..SHARD, ordered by VisibleAt. An ended task is in P..'e'..STATE, ordered by its end.
local function put_away(id, h)
	local state = byte(h, 2)
	if state == 0 then
		call('ZREM', P .. 'd' .. sub(h, 3, 4), member(id, h))
	else
		call('ZREM', P .. 'e' .. state, id)
	end
end

local function place(id, h, score)
	local state = byte(h, 2)
	if state == 0 then
		call('ZADD', P .. 'd' .. sub(h, 3, 4), score, member(id, h))
	else
		call('ZADD', P .. 'e' .. state, score, id)
	end
end

-- The pending tasks of an ordering key are in P..'w'..CHAIN, by their places in µs, and
-- those that supersede in P..'W'..CHAIN as well. The name of a chain has the prefix s for a task that supersedes.
local function line_up(id, chain, score)
	local name = sub(chain, 2)
	call('ZADD', P .. 'w' .. name, score, id)
	if byte(chain, 1) == 115 then
		call('ZADD', P .. 'W' .. name, score, id)
	end
end

local function step_out(id, chain)
	local name = sub(chain, 2)
	call('ZREM', P .. 'w' .. name, id)
	call('ZREM', P .. 'W' .. name, id)
end

-- queue is the name of the queue in a row that begins with h.
local function queue(id, h)
	local n = byte(h, 65) * 256 + byte(h, 66)
	if #h < 66 + n then
		h = call('GETRANGE', P .. 't' .. id, 0, 65 + n)
	end
	return sub(h, 67, 66 + n)
end

-- The counts of tasks by state and queue are in the hash P..'n'.
local counts = {}
local function count(state, name, n)
	local field = state .. name
	counts[field] = (counts[field] or 0) + n
end
local function put_counts()
	for field, n in pairs(counts) do
		if n ~= 0 and call('HINCRBY', P .. 'n', field, n) == 0 then
			call('HDEL', P .. 'n', field)
		end
	end
end

-- The lists are one sorted set of texts: 'a'..ID, 'm'..MERCHANT..ID, 'o'..ORDER..ID.
-- It is cut into leaves of at most 64, which Redis keeps in a third of the memory
-- of a large set. P..'x' has the first text of each leaf.
local function leaf(text)
	return call('ZREVRANGEBYLEX', P .. 'x', '[' .. text, '-', 'LIMIT', 0, 1)[1]
end

local function enlist(text)
	local key = P .. 'x' .. leaf(text)
	if call('ZCARD', key) >= LEAF then
		if call('ZLEXCOUNT', key, '(' .. text, '+') == 0 then -- the last of all: lists grow at their ends
			call('ZADD', P .. 'x', 0, text)
			key = P .. 'x' .. text
		else
			local upper = call('ZRANGE', key, LEAF / 2, -1)
			local next, all = P .. 'x' .. upper[1], {}
			for i, t in ipairs(upper) do
				all[2 * i - 1], all[2 * i] = 0, t
			end
			call('ZREM', key, unpack(upper))
			call('ZADD', P .. 'x', 0, upper[1])
			call('ZADD', next, unpack(all))
			if call('ZLEXCOUNT', next, '-', '[' .. text) > 0 then
				key = next
			end
		end
	end
	call('ZADD', key, 0, text)
end

-- enlist_all puts in ids that begin with a letter. Mostly they are the last of their
-- list, one behind the other: then a leaf takes many at once.
local function enlist_all(letter, ids)
	table.sort(ids, function(a, b)
		local a1, a2, a3, a4 = struct.unpack('>I4I4I4I4', a)
		local b1, b2, b3, b4 = struct.unpack('>I4I4I4I4', b)
		if a1 ~= b1 then return a1 < b1 end
		if a2 ~= b2 then return a2 < b2 end
		if a3 ~= b3 then return a3 < b3 end
		return a4 < b4
	end)
	if #ids == 0 then
		return
	end
	local first = leaf(letter .. ids[1])
	local key = P .. 'x' .. first
	if first ~= leaf(letter .. ids[#ids]) or call('ZLEXCOUNT', key, '[' .. letter .. ids[1], '+') > 0 then
		for _, id in ipairs(ids) do
			enlist(letter .. id)
		end
		return
	end
	local n, all = call('ZCARD', key), {}
	for _, id in ipairs(ids) do
		local text = letter .. id
		if n >= LEAF then
			if #all > 0 then
				call('ZADD', key, unpack(all))
			end
			call('ZADD', P .. 'x', 0, text)
			key, n, all = P .. 'x' .. text, 0, {}
		end
		all[#all + 1] = 0
		all[#all + 1] = text
		n = n + 1
	end
	call('ZADD', key, unpack(all))
end

local function unlist(text)
	local first = leaf(text)
	call('ZREM', P .. 'x' .. first, text)
	if #first > 1 and call('EXISTS', P .. 'x' .. first) == 0 then
		call('ZREM', P .. 'x', first)
	end
end
