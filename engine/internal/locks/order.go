package locks

// Order is the order in which locks are taken: who holds one takes only those that come after it. Where two stand on one line,
// nobody holds both. engine/DESIGN.md says what each is for.
var Order = [][]string{
	{"loader"},
	{"leases.turn"},
	{"pauses.turn"},
	{"starting"},
	{"hand"},
	{"dispatch"},
	{"leases", "pauses", "found", "strays", "gifts", "moves", "workers", "watch", "hints", "chains", "shelves"},
	{"lane"},
	{"work"},
}
