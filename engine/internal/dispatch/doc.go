// Package dispatch decides who goes next: among the attempts that are due, the
// one that is fair to make now, within every limit.
//
// A [D] is a passive structure behind one mutex. It has no goroutine and no
// clock: the caller says what time it is, makes the attempts, and reports how
// they went. Every call but the ones for pages is O(1), amortised, and
// allocates nothing once it has seen its load.
//
// # Time
//
// Every time is an int64 in nanoseconds since an origin of the caller's choice,
// the same for due times and for now. Unix nanoseconds that advance with the
// monotonic clock (start.UnixNano() + time.Since(start)) are a good choice. A
// now before the newest one seen counts as that one.
//
// # Model
//
// Items wait in lines. A line is one queue's items for one endpoint; it holds
// urgent ones apart, and the others by age, which is how often they were attempted.
// What is of one age is first in, first out. Endpoints that have something to send
// and may send it take turns, one item a turn; so do the queues' lines within an
// endpoint.
//
// First attempts go before retries, but at least each eighth item is a retry, and
// each second while the retry that waits longest is five seconds late. With
// [Rules].YoungFirst there are six ages, by attempts
//
//	0, 1, 2–3, 4–7, 8–15, 16 or more
//
// and the youngest go first: so a budget that is short makes those wait that have
// had most of it. Of those that were attempted, the one that waits longest, of
// whatever age, is at least each eighth item, and each fourth while it is five
// seconds late, so that each comes when those due before it have come. Each age has
// a sixth of the line's room, so that none fills it. Urgent items go before all of
// them, but at least each eighth item is another.
//
// What cannot go now is not looked at: an endpoint at its limit, out of tokens,
// paused, or behind an open breaker is in no ring until an event puts it back,
// and a line whose queue is at its limit or paused stands aside with its queue.
//
// # Limits
//
// An endpoint's limit starts at 8, grows by one for each answer while it is
// used (which doubles it each round trip) until a first loss, then by one each
// round trip, and is halved by a loss (no answer, or an answer that asks for
// less, and there is no pace), at most once a round trip. It stays between 4 (1, if the endpoint asks
// for less) and the configured concurrency. Where several queues name one endpoint, the strictest of their
// limits holds for the endpoint as a whole.
//
// # Pace
//
// An endpoint that asks for less gets a rate of its own, its pace, for fewer at
// once is not fewer a second where answers are quick. It begins when a tenth of
// what was sent lately (in 0.1 to 0.2 seconds) asked for less, unless that was
// fewer than five attempts in one to two seconds with fewer than five at hand: a
// few tasks keep their schedule. A pace falls
//
//	to half of what the endpoint had lately, but not below one a second,
//	when a sixteenth of what was sent lately asked for less,
//	at most once in 0.1 seconds, and not for attempts from before it fell last;
//	nothing is sent for 0.05 seconds then.
//
// It rises while it holds something back: threefold a second to 7/8 of where it
// fell, from there by a twentieth a second, or a two-hundredth an attempt if that
// is less, doubled for each five seconds without a fall. When it is no stricter
// than the configured rate, or did not fall for five minutes, it is gone. Without
// one, or before it begins, an answer that asks for less halves the limit.
//
// # The slow do not hold the quick
//
// An endpoint is quick while it answers in under a second on average, slow
// while it answers in more, and silent while it has not answered: never yet, or
// not since its last failure, or not for 20 ms to 10 s, by what it used to
// take, with attempts in flight. Of a pool with ceiling C,
//
//	the first slot of a quick endpoint may be taken while all hold < C
//	any other slot                     while all hold < 15/16 C, and
//	  the first of a slow or silent one  while slow and silent ones hold < 7/8 C
//	  a further one of a quick one       while quick ones hold < 3/4 C
//	  a further one of a slow one        while slow and silent ones hold < 1/2 C
//	  a further one of a silent one      while slow and silent ones hold < 1/8 C
//
// so that endpoints known to hang can have one slot each and an eighth of the
// pool besides, and never its last eighth. In the moment before they are known,
// their further slots leave a quarter. An endpoint with nothing in flight that
// has been answering waits for the pool to grow, some milliseconds, but for
// other endpoints only when the whole ceiling is held.
//
// Within the ceiling the pool sizes itself. Its limit, up to 3/4 C, is on the
// slots of quick endpoints; slots that slow and silent ones hold come on top.
// While it is all taken and work waits, it doubles when fewer than half of the
// answers come back in 2 ms that should; otherwise it tries, now and then, half
// as much again or a third less, and keeps what is worth it by answers a second,
// so that it does not take slots where this machine is the limit. At its top,
// first slots of quick endpoints go on up to C. It shrinks when the peak of ten
// seconds was below three quarters.
//
// # Breaker
//
// Ten failures in a row that say an endpoint is down open its breaker, if at
// least five items are at hand then (waiting or in flight): a few tasks that
// fail, however often, open none and keep their schedule. Its
// items wait, without using up attempts. After a second one probe goes; each
// probe that fails doubles the wait, up to a minute; an answer starts a ramp
// from a limit of 1, and the breaker is closed when the limit is back at its
// start. An answer is an answer, whatever its status: see [Outcome].
package dispatch
