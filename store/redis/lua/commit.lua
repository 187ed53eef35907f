-- Writes a batch. It checks the leases and the documents first, and writes nothing before the last check.
local at = 0
local function arg()
	at = at + 1
	return ARGV[at]
end
local function number() return tonumber(arg()) end

if call('HEXISTS', P .. 'S', 'format') == 0 then -- after FLUSHALL, in whose empty store this script would stop in the middle
	return redis.error_reply('GONE store')
end
for _ = 1, number() do
	local shard, epoch, token = arg(), arg(), arg()
	local have = call('HMGET', P .. 'S', 'e' .. shard, 'k' .. shard)
	if have[1] ~= epoch or (have[2] or '') ~= token then
		return redis.error_reply('FENCED shard ' .. shard)
	end
end
for _ = 1, number() do
	local kind, name, was = arg(), arg(), arg()
	if (call('HGET', P .. 'D' .. kind, name) or '') ~= was then
		return redis.error_reply('CHANGED document')
	end
end

local said, fresh, found = {}, {}, false
-- there answers an add with a task that exists.
local function there(how, id)
	said[#said + 1] = how .. id
	found = true
end
local function add()
	local id, key, alias, score, row = arg(), arg(), arg(), arg(), arg()
	local merchant, order, chain, stands = arg(), arg(), arg(), arg()
	local have = key ~= '' and call('HGET', P .. 'k', key)
	if have then
		local digest = call('GETRANGE', P .. 't' .. have, 48, 63)
		if digest == sub(row, 49, 64) then
			return there('E', have)
		elseif digest ~= '' then
			return there('K', have)
		end
	end
	local holder = alias ~= '' and call('HGET', P .. 'k', alias)
	if holder and call('EXISTS', P .. 't' .. id) == 0 and call('EXISTS', P .. 't' .. holder) == 1 then
		return there('A', holder)
	end
	if call('SETNX', P .. 't' .. id, row) == 0 then
		return there('E', id)
	end
	if key ~= '' then
		call('HSET', P .. 'k', key, id)
	end
	if alias ~= '' then
		call('HSET', P .. 'k', alias, id)
	end
	place(id, row, score)
	fresh[#fresh + 1] = id
	if merchant ~= '' then
		enlist('m' .. merchant .. id)
	end
	if order ~= '' then
		enlist('o' .. order .. id)
	end
	if chain ~= '' and byte(row, 2) == 0 then
		line_up(id, chain, stands)
	end
	count(byte(row, 2), queue(id, row), 1)
	said[#said + 1] = ''
end

local function audit(score, record)
	call('ZADD', P .. 'A', score, string.format('%016x', call('INCR', P .. 'q')) .. record)
end

-- put_row replaces a row, and returns the beginning of the new row.
local function put_row(id, row, to, status, last)
	local cold, size, old = struct.unpack('>I4I4I4', sub(row, 37, 48))
	local behind = HEAD + cold
	if old > 0 then
		local before = sub(row, behind + size + 1, behind + size + old)
		if last == '' then
			last = before
		else
			-- The newest attempt is in the row, earlier attempts are in the log.
			local log = before
			if struct.unpack('>I4', before) > struct.unpack('>I4', last) then
				log, last = last, before
			end
			call('ZADD', P .. 'l' .. id, (struct.unpack('>I4', log)), log)
		end
	end
	local head = to .. sub(row, 29, 40) .. struct.pack('>I4I4', #status, #last)
	call('SET', P .. 't' .. id, head .. sub(row, 49, behind) .. status .. last)
	return head
end

for _ = 1, number() do
	add()
end
for _ = 1, number() do
	local id, version, to, score, status, last, chain, stands = arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg()
	local at_ms, record, follows = arg(), arg(), number()
	local h = call('GET', P .. 't' .. id) or ''
	if h == '' or sub(h, 5, 8) ~= version then
		said[#said + 1] = h == '' and 'N' or 'C'
		at = at + 9 * follows
		for _ = 1, follows do
			said[#said + 1] = ''
		end
	else
		said[#said + 1] = ''
		put_away(id, h)
		place(id, put_row(id, h, to, status, last), score)
		if byte(h, 2) ~= byte(to, 2) then
			local name = queue(id, h)
			count(byte(h, 2), name, -1)
			count(byte(to, 2), name, 1)
		end
		if chain ~= '' and byte(to, 2) ~= 0 then
			step_out(id, chain)
		elseif chain ~= '' and byte(h, 2) ~= 0 then
			line_up(id, chain, stands)
		end
		if record ~= '' then
			audit(at_ms, record)
		end
		for _ = 1, follows do
			add()
		end
	end
end
for _ = 1, number() do
	local kind, name, gone, value = arg(), arg(), arg(), arg()
	if gone == '' then
		call('HSET', P .. 'D' .. kind, name, value)
		call('ZADD', P .. 'N' .. kind, 0, name)
	else
		call('HDEL', P .. 'D' .. kind, name)
		call('ZREM', P .. 'N' .. kind, name)
	end
end
for _ = 1, number() do
	audit(arg(), arg())
end
enlist_all('a', fresh)
put_counts()
if found then
	-- WAIT and WAITAOF wait for the last write of their connection. Without a write they would not wait for the
	-- write that added the task, which may be on this server only.
	call('HSET', P .. 'S', 'found', '')
end
return said
