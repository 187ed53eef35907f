package locks

// Order is the order in which locks are taken: a goroutine that holds one takes only later ones. No
// goroutine holds two locks of one line. engine/DESIGN.md explains each.
var Order = [][]string{
	{"loader"},
	{"cluster.claiming"},
	{"pauses.changing"},
	{"starting"},
	{"agenda"},
	{"dispatch"},
	{"cluster", "announcements", "pauses", "rescans", "unknown", "surplus", "moves", "workers", "watch", "hints", "chains", "shelves"},
	{"lane"},
	{"work"},
}
