-- Nodes and shards, by the server's clock. P..'J' has the names of nodes, ordered by their expiry. P..'J'..NAME
-- describes a node. P..'S' has for each shard its epoch (eN), its owner (oN) and the mark of its claim (kN). Its field found
-- is of commits.
local S, J = P .. 'S', P .. 'J'
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function alive(name)
	local expires = name and name ~= '' and call('ZSCORE', J, name)
	return expires and tonumber(expires) > now
end
local what, name = ARGV[1], ARGV[2]

if what == 'open' then
	-- name is the format; ARGV[3] the shards of a store that is new, 0: there must be one.
	local have = call('HMGET', S, 'format', 'shards')
	if not have[1] and ARGV[3] ~= '0' then
		local shards = tonumber(ARGV[3])
		call('HSET', S, 'format', name, 'shards', shards)
		for i = 0, shards - 1 do
			call('HSET', S, 'e' .. i, 0)
		end
		call('ZADD', P .. 'x', 0, 'a', 0, 'm', 0, 'o')
		return {name, ARGV[3]}
	end
	return have
elseif what == 'join' then
	if alive(name) then
		return 0
	end
	local ttl = tonumber(ARGV[5])
	for _, old in ipairs(call('ZRANGEBYSCORE', J, '-inf', now)) do
		local lived = tonumber(call('HGET', J .. old, 'ttl') or 0)
		if old == name or tonumber(call('ZSCORE', J, old)) + 100 * lived < now then
			call('ZREM', J, old)
			call('DEL', J .. old)
		end
	end
	call('ZADD', J, now + ttl, name)
	call('HSET', J .. name, 'addr', ARGV[3], 'version', ARGV[4], 'ttl', ttl, 'joined', now, 'beat', now)
	return 1
elseif what == 'beat' then
	if not alive(name) then
		return 0
	end
	call('ZADD', J, now + tonumber(call('HGET', J .. name, 'ttl')), name)
	call('HSET', J .. name, 'beat', now)
	return 1
elseif what == 'leave' then
	for i = 0, tonumber(call('HGET', S, 'shards')) - 1 do
		if call('HGET', S, 'o' .. i) == name then
			call('HDEL', S, 'o' .. i)
		end
	end
	call('ZREM', J, name)
	call('DEL', J .. name)
	return 1
elseif what == 'release' then
	local shard, epoch = ARGV[3], ARGV[4]
	local have = call('HMGET', S, 'e' .. shard, 'o' .. shard)
	if name == '' or have[1] ~= epoch or have[2] ~= name then
		return 0
	end
	call('HDEL', S, 'o' .. shard)
	return 1
elseif what == 'claim' then
	local shard, seen, token = ARGV[3], ARGV[4], ARGV[5]
	local have = call('HMGET', S, 'e' .. shard, 'o' .. shard)
	if not alive(name) or have[1] ~= seen or have[2] ~= name and alive(have[2]) then
		return 0
	end
	call('HINCRBY', S, 'e' .. shard, 1)
	call('HSET', S, 'o' .. shard, name, 'k' .. shard, token)
	return 1
end

-- glance: the time, nodes, shards, and all documents of a kind.
local nodes, shards = {}, {}
for _, n in ipairs(call('ZRANGE', J, 0, -1)) do
	local have = call('HMGET', J .. n, 'addr', 'version', 'joined', 'beat')
	nodes[#nodes + 1] = {n, have[1], have[2], have[3], have[4]}
end
local total = tonumber(call('HGET', S, 'shards') or 0)
for i = 0, total - 1 do
	local have = call('HMGET', S, 'e' .. i, 'o' .. i, 'k' .. i)
	shards[i + 1] = {have[1], have[2] or '', alive(have[2]) and '1' or '', have[3] or ''}
end
local docs = what == 'glance' and call('HGETALL', P .. 'D' .. name) or {}
return {string.format('%d', now), nodes, shards, docs}
