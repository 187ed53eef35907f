-- Counts the due entries of shards. ARGV: from, to, and the shards.
local n = 0
for i = 3, #ARGV do
	n = n + call('ZCOUNT', P .. 'd' .. ARGV[i], ARGV[1], '(' .. ARGV[2])
end
return n
