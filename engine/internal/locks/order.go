package locks

// Order is the order in which locks are taken: a goroutine that holds one takes only later ones. No
// goroutine holds two locks of one line. engine/DESIGN.md explains each.
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
