package locks

// Order is the order in which locks are taken: who holds one takes only those that come after it. Where two stand on one line,
// nobody holds both. engine/DESIGN.md says what each is for.
var Order = [][]string{
	{"loader"},
	{"leases.claiming"},
	{"pauses.changing"},
	{"starting"},
	{"agenda"},
	{"dispatch"},
	{"leases", "pauses", "rescans", "unknown", "surplus", "moves", "workers", "watch", "hints", "chains", "shelves"},
	{"lane"},
	{"work"},
}
