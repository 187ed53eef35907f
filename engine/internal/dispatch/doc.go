// Package dispatch decides which due item is attempted next: fairly, and within every limit.
//
// A [D] is a passive structure behind one mutex. It has no goroutine and no clock: the caller
// passes the time, makes the attempts, and reports their outcomes. Every call takes amortized
// constant time and allocates nothing once the D has seen its peak load, except the calls that
// describe states.
//
// # Time
//
// Every time is an int64 in nanoseconds since an origin that the caller chooses. Due times and now
// have the same origin. A good choice is Unix nanoseconds that advance with the monotonic clock:
// start.UnixNano() + time.Since(start). If now is before the latest now, the latest counts.
//
// # Model
//
// Items wait in lines. A line holds the items of one queue for one endpoint. It keeps urgent items
// apart, and all others by age class: how often they were attempted. Each class is first in, first
// out. Endpoints that have items and may send take turns, one item a turn. Within an endpoint, the
// lines of its queues take turns.
//
// First attempts go before retries. But at least each eighth item is a retry, and each second while
// the oldest retry is five seconds late. With [Rules].YoungFirst there are six age classes, by
// attempts
//
//	0, 1, 2–3, 4–7, 8–15, 16 or more
//
// and the youngest class goes first. So if the capacity is too small, the items that have had most
// of it wait. At least each eighth item is the one that has waited longest among the items that
// were attempted before, and each fourth while that item is five seconds late. So every item goes
// when the items due before it have gone. Each class has a sixth of the line's room, so no class
// fills the line. Urgent items go before all others, but at least each eighth item is not urgent.
//
// Items for which a line has no place wait outside the D, and the caller brings them again: they
// are elders. While there are elders outside, newer items may take half of the places of their
// list. [D.Push] says when the line should get more elders, and [D.Room] how many.
//
// Items that cannot go cost nothing. An endpoint that is at its limit, out of tokens, paused, or
// behind an open breaker is in no ring until an event puts it back. A line whose queue is at its
// limit or paused is parked with its queue.
//
// # Limits
//
// The limit of an endpoint starts at [Options].Start. While the limit is used up, each answer adds
// one, which doubles the limit each round trip, until the first loss. After that, each round trip
// adds one. A loss halves the limit, at most once a round trip. A loss is a missing answer, or an
// answer that asks for less while the endpoint has no pace. The limit stays between 4 (1 if the
// endpoint asks for less) and the configured concurrency. If several queues name one endpoint, the
// strictest of their limits holds for the whole endpoint.
//
// # Pace
//
// An endpoint that asks for less gets a rate of its own, its pace. A smaller limit would not help:
// where answers are quick, fewer concurrent attempts are not fewer attempts a second. A pace begins
// when a tenth of the recent attempts (of the last 0.1 to 0.2 seconds) were answered by asking for
// less. It does not begin after fewer than five attempts in one to two seconds while fewer than
// five items are waiting or in flight: a few tasks keep their schedule. A pace falls
//
//	to half of the endpoint's recent rate, but not below one attempt a second,
//	when a sixteenth of the recent attempts asked for less,
//	at most once in 0.1 seconds, and not for attempts that started before its last fall;
//	after a fall nothing is sent for 0.05 seconds.
//
// A pace rises while it delays attempts: it triples each second up to 7/8 of the rate at which it
// fell. From there it grows by a twentieth a second, or by a two-hundredth an attempt if that is
// less; each five seconds without a fall double that growth. The pace ends when it is no stricter
// than the configured rate, or has not fallen for five minutes. Without a pace, an answer that asks
// for less halves the limit.
//
// # Slow endpoints do not hold up quick ones
//
// An endpoint is quick while its answers take less than a second on average, and slow while they
// take more. It is silent if it has never answered, has not answered since its last failure, or has
// attempts in flight and has not answered for 20 ms to 10 s, depending on how long its answers
// usually take. In a pool with ceiling C,
//
//	the first slot of a quick endpoint may be taken while all hold < C
//	any other slot                     while all hold < 15/16 C, and
//	  the first of a slow or silent one  while slow and silent ones hold < 7/8 C
//	  a further one of a quick one       while quick ones hold < 3/4 C
//	  a further one of a slow one        while slow and silent ones hold < 1/2 C
//	  a further one of a silent one      while slow and silent ones hold < 1/8 C
//
// So endpoints that are known to hang can have one slot each and an eighth of the pool in addition,
// and never the last eighth of the pool. Until they are known to hang, their further slots leave a
// quarter of it. An endpoint that answers and has nothing in flight waits some milliseconds, for
// the pool to grow. It waits for other endpoints only when the whole ceiling is taken.
//
// Within the ceiling the pool sizes itself. Its limit, at most 3/4 C, counts slots of quick
// endpoints; slots of slow and silent ones come on top. While the limit is used up and work waits,
// the limit doubles if fewer than half of the expected answers came back within 2 ms. Otherwise the
// pool now and then tries a limit that is half as much larger, or a third smaller, and keeps it if
// it brings more answers a second. So the pool does not take slots when this machine is the limit.
// At its top, first slots of quick endpoints go on up to C. The pool shrinks when the peak of ten
// seconds was below three quarters of the limit.
//
// # Breaker
//
// The breaker of an endpoint opens after ten consecutive failures that say the endpoint is down, if
// at least five of its items are waiting or in flight. A few tasks that fail never open it, and
// keep their schedule. While the breaker is open, items wait and use up no attempts. After a second
// one probe is sent. Each failed probe doubles the wait, up to a minute. An answer starts a ramp
// from a limit of 1; the breaker is closed when the limit is back at its start. Any status is an
// answer: see [Outcome].
package dispatch
