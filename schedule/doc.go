// Package schedule computes the times at which a task is attempted, from a text or a preset's name.
// It has no clock, no goroutine and no randomness: the caller passes time and random numbers in.
//
// A schedule lists the delay before each attempt. The delay counts from the start of the previous
// attempt; the first delay counts from the start of the schedule:
//
//	0s, 15s*2, 30s              four attempts
//	3s*20, 1m*2, 5m*; max 30m   the last gap again and again, until age 30m
//	@ 3s, 6s, 90s               offsets from the start of the schedule instead
//	5s*6, @10m, 1m*             gaps, then at age 10m, then every minute
//	1m* until 10m, 10m*         gaps by age
//	0s, 5m, 1h ~10%             each gap longer by up to a tenth
//	{"1":0,"2":1,"3":2}         roncoo's notify_rule: attempt → minutes
//	wechat_notify               a preset, see [Presets]
//
// # Grammar
//
//	text     = preset | rule | schedule .
//	schedule = list { clause } .
//	clause   = ";" "max" duration          ends the task at that age
//	         | [ ";" ] jitter .
//	jitter   = "~" percent "%" .           1 to 100
//	list     = gaps | "@" offsets .
//	gaps     = item { "," item } .
//	offsets  = at { "," at } { "," repeat } .
//	item     = duration                    one attempt, so long after the one before
//	         | duration "*" count          that many attempts
//	         | "@" duration                one attempt at that age; not as the first item
//	         | repeat .
//	at       = [ "@" ] duration .
//	repeat   = duration "*"                without end; the last item only
//	         | duration "*" "until" age .  while the attempt before started below that age;
//	                                       only further repeats may follow, and one must
//	duration = number unit { number unit } .   1h30m: larger units first, whole numbers
//	unit     = "d" | "h" | "m" | "s" | "ms" .  a day is 24 hours
//	rule     = "{" minute { "," minute } "}" .
//	minute   = attempt ":" minutes .       either quoted or not (fastjson writes them bare)
//
// White space between tokens is ignored. Each clause appears at most once. Ages and offsets count
// from the start of the schedule and must increase. In a rule, a missing number below the highest
// means 0: that attempt follows at once.
//
// # Limits
//
// A text has at most 4 KiB, also as [Schedule.String] writes it.
// A duration, and a whole list without repeats, has at most 10 years of 365 days.
// A schedule has at most 10,000 attempts that do not repeat, and at most 200 runs of attempts with
// one gap (15s*2 is one run, each offset is one run).
// A repeat has a gap of 10 ms or more, so that a failing task does not spin.
// A max below the first attempt is an error: nothing would ever be attempted.
//
// # Canonical text
//
// Equal schedules have the same [Schedule.String], and it parses back to an equal schedule. It
// joins equal neighbours (15s, 15s is 15s*2; 5m, 5m* is 5m*), uses the units h, m, s and ms, and
// writes jitter before max.
package schedule
